"""Words that are no names, by language, and the character classes that word patterns are made of."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# Python's \w leaves out combining marks, without which most Indic and pointed Semitic words would fall apart.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a"
    "\u07a6-\u07b0\u0816-\u082d\u08d3-\u0903\u093a-\u094f\u0951-\u0963\u0981-\u0983\u09bc-\u09e3\u0a01-\u0a03\u0a3c-\u0a51"
    "\u0a70-\u0a75\u0a81-\u0a83\u0abc-\u0ae3\u0b01-\u0b03\u0b3c-\u0b63\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c63"
    "\u0c81-\u0c83\u0cbc-\u0ce3\u0d00-\u0d03\u0d3b-\u0d63\u0d81-\u0d83\u0dca-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1"
    "\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f84\u102b-\u103e\u1056-\u1060\u135d-\u135f\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
)
WORD_CHARACTERS = rf"\w{MARKS}"
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
HIRAGANA = "\u3041-\u309f"
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
SEMITIC_AND_INDIC = (
    "\u05d0-\u05f2\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u08ff\u0900-\u0963\u0966-\u0dff"
    "\ufb1d-\ufd3d\ufd50-\ufdfb\ufe70-\ufefc\u1200-\u135f\u10d0-\u10ff"
)
UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
# A character of a script without capitals.
UNCASED = re.compile(rf"[{HAN}{HIRAGANA}{KATAKANA}{HANGUL}{SEMITIC_AND_INDIC}{UNSPACED}]")
# A letter of a script that writes words without spaces between them.
UNSPACED_LETTER = re.compile(rf"[{HAN}{HIRAGANA}{KATAKANA}{UNSPACED}]")

MONTHS = word_set("""
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember janvier février mars avril
    juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto
    septiembre octubre noviembre diciembre января февраля марта апреля мая июня июля августа сентября октября
    ноября декабря
""")
DAYS = word_set("""
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
""")
ERAS = word_set("""
    bc ad bce ce century centuries decade spring summer autumn winter christmas easter
""")

# Words that a sentence often starts with, or that a title writes large, without being a name.
FUNCTION_WORDS = word_set("""
    a an the this that these those he she it they we i you him her his hers its their theirs our my your who
    whom whose which what when where why how and or but nor so yet if then than as at by for from in into of off
    on onto out over per to toward towards under until up upon via with within without about above across after
    against along among around before behind below beneath beside besides between beyond despite down during
    except inside like near outside since through throughout is are was were be been being has have had do does
    did will would shall should can could may might must not no yes also although though because however
    moreover furthermore meanwhile nevertheless nonetheless therefore thus hence instead later soon now today
    once twice again still just only even ever never often sometimes usually always here there some any each
    every all both either neither one two three four five six seven eight nine ten many much more most several
    few other others another such same own first second third last next new old early late previously originally
    initially eventually finally recently currently following according while whether unlike additionally
    overall together apart since afterwards subsequently unless whereas see note il elle le la les un une der
    die das ein eine er sie es el los las una lo und et y e i o en im am dans sur
""")

# Capitalised inside a name, too common to be one alone.
ROLES = word_set("""
    mr mrs ms miss dr doctor prof professor sir dame lord lady saint st king queen prince princess emperor
    empress duke duchess count countess earl baron baroness viscount marquis marquess marquise archduke
    archduchess tsar sultan president chancellor minister governor senator mayor ambassador secretary chairman
    chief director general colonel captain major lieutenant sergeant admiral marshal commander commodore
    brigadier field private reverend rev bishop archbishop cardinal pope father mother brother sister rabbi imam
    justice judge crown prime vice grand dowager consort actor actress author writer poet singer composer
    filmmaker producer
""")
COMMON_NAMES = word_set("""
    university college school institute academy church county city town village district province state river
    lake mountain island north south east west northern southern eastern western central street road avenue park
    house hall museum library hospital station airport company corporation group band film album song book novel
    series television tv radio press times news journal award awards prize cup league club team championship
    championships world war army navy government party union association society council committee department
    office court act law bill congress parliament senate house republic kingdom empire english language history
    art arts science music football olympics bible god internet part chapter section volume table figure list
    page john william james george charles robert thomas henry david michael richard joseph edward paul peter
    frank mary anne anna elizabeth margaret sarah jane maria martin daniel mark steven stephen andrew philip
    louis alexander jack tom bob bill sam max jean hans karl johann introduction background career life plot
    cast reception references overview summary biography
""")
DEMONYMS = word_set("""
    american british english scottish welsh irish french german italian spanish portuguese dutch belgian swiss
    austrian danish swedish norwegian finnish icelandic polish czech slovak hungarian romanian bulgarian serbian
    croatian slovenian bosnian albanian macedonian greek turkish cypriot russian ukrainian belarusian estonian
    latvian lithuanian georgian armenian azerbaijani kazakh uzbek soviet yugoslav israeli jewish arab arabic
    egyptian syrian lebanese iraqi iranian persian saudi indian pakistani bangladeshi nepalese nepali bengali
    tamil telugu hindi punjabi malayalam kannada marathi chinese japanese korean taiwanese vietnamese thai
    filipino indonesian malaysian singaporean burmese mongolian tibetan australian canadian mexican brazilian
    argentine argentinian chilean peruvian colombian venezuelan cuban jamaican african nigerian ghanaian kenyan
    ethiopian somali sudanese moroccan algerian tunisian libyan zimbabwean ugandan tanzanian congolese european
    asian latin christian catholic protestant muslim islamic hindu buddhist roman byzantine ottoman prussian
    bavarian norman flemish catalan basque maltese sri lankan afghan puerto rican new zealander afro-american
    african-american
""")
ORDINALS = word_set("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth hundred thousand million
    billion hundreds thousands millions dozen i ii iii iv vi vii viii ix xi xii
""")

# Single characters and words at which an unspaced text is cut; what stays between them may be a name.
HAN_BREAKS = re.compile(
    "出生|诞生|誕生|逝世|去世|位于|位於|成立|创立|創立|创办|創辦|建立|毕业|畢業|担任|擔任|曾经|曾經|根据|根據|以及|或者|因为|因為|所以|但是|"
    "之一|自己|他们|她们|它们|他們|她們|一个|一個|一位|一名|一部|一种|一種|一座|著名|主要|包括|开始|開始|发行|發行|上映|执导|執導|导演|導演|主演|编剧|"
    "作者|作家|作品|小说|小說|电影|電影|发表|發表|出版|获得|獲得|毕生|目前|现在|現在|其中|之后|之後|之前|时候|時候|使用|成为|成為|通过|通過|"
    "进行|進行|已经|已經|可以|没有|沒有|认为|認為|属于|屬於|来自|來自|^[年月日]+|[的了是在與与或於為为從从到被把等这這那之並并而但對对向讓给給"
    "他她它我你們们个個又很最更有着著说說]|(?<![共昭])和(?![国國平])|(?<!埃)及|(?<!自)由|(?<!耳)其|[将將](?![军軍])|以(?!色列)|于|也(?!门)|则|則"
)
COMMON_HAN = word_set("""
    中国 中國 日本 美国 美國 世界 国家 國家 城市 首都 历史 歷史 文化 大学 大學 公司 音乐 音樂 歌曲 歌手 演员
    演員 人物 政治 经济 經濟 社会 社會 地区 地區 政府 时间 時間 昭和 平成 明治 大正 令和 主人公 小説 小説家 作家
    映画 監督 作品 会社 出身 俳優 女優 歌手 人 家 者 母 父 子 妻 夫 兄 弟 姉 妹
""")
# Longer ones first: the first that fits is taken off.
KOREAN_ENDINGS = (
    *(
        "에서는",
        "으로서",
        "으로는",
        "에게서",
        "이라는",
        "에서",
        "에게",
        "으로",
        "부터",
        "까지",
        "이며",
        "이고",
        "이다",
        "보다",
        "처럼",
    ),
    *("은", "는", "이", "가", "을", "를", "의", "에", "와", "과", "로", "도", "만"),
)
KOREAN_FUNCTION_WORDS = word_set("""
    그 그녀 그는 이 저 것 수 등 및 또는 그리고 하지만 그러나 있는 하는 되는 위해 대한 통해 대해 때문 가장 매우
    함께 후 전 중 때 년 월 일 있다 했다 이다 되었다 태어났다 영화 소설 작가 감독 배우 가수
""")
# Arabic, Persian, Urdu; Hebrew; Hindi, Marathi, Nepali; Bengali, Tamil, Telugu.
SPACED_FUNCTION_WORDS = word_set("""
    في من على إلى عن مع هو هي هم كان كانت التي الذي الذين هذا هذه ذلك تلك أن إن أو و ثم قد لم لن لا ما كما بعد
    قبل بين عند منذ حيث وهو وهي وكان وكانت وقد ولد ولدت توفي توفيت عام سنة كل بعض غير أي له لها لهم به بها فيه
    فيها عليه عليها إليه منه منها يكون تكون ليس الى او ان يعتبر تعتبر يقع تقع كاتب كاتبة مدينة فيلم رواية در از
    به که این آن را با است بود شد برای یک تا هم یا بر هر شده کرد می خود وی او اما نیز میں کے کی کا کو سے ہے ہیں
    تھا تھے تھی اور یہ وہ نے پر ایک של את על עם הוא היא הם הן היה הייתה היו זה זאת זו אשר כי גם או אבל לא יש אין
    כל בין אל מן עד אם רק עוד אחד אחת לפני אחרי נולד נולדה נפטר נפטרה שנת בשנת סופר סופרת סרט עיר ספר का की के में
    से को ने पर है हैं था थे थी और या एक यह वह ये वे इस उस इन उन जो कि तो ही भी नहीं कर करने किया किए गया गई हुआ हुई हुए लिए
    साथ बाद तक द्वारा अपने अपनी अपना जन्म मृत्यु होता होती रहा रही रहे आहे आणि या हे ही हा होते छ र मा को ले এবং ও এই একটি
    একজন তিনি হয় ছিলেন ছিল করেন করা থেকে জন্য সঙ্গে তার তাঁর যে না মধ্যে மற்றும் ஒரு இது அது இந்த என்று ஆகும் என்ற మరియు ఒక
    ఈ ఆ
""")
UNSPACED_BREAKS = re.compile(
    "เป็น|และ|ที่|ใน|ของ|ได้|มี|จาก|โดย|กับ|ซึ่ง|หรือ|เมื่อ|ให้|ว่า|แต่|ไม่|ถูก|เกิด|เขา|เธอ|นี้|นั้น|ຂອງ|ແລະ|ເປັນ|ໃນ|នៅ|និង|ជា|របស់|သည်|၏|နှင့်|တွင်|ကို|မှာ"
)
