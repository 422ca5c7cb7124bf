// The panel: all of what is selected, in words, and the way to everything that it is joined with.

function describe(node) {
  return { document: describeDocument, entity: describeEntity, bridge: describeBridge }[node.kind](node);
}

function describeDocument(node) {
  const names = acrossFrom(node);
  return [
    heading(node),
    node.id === node.name ? "" : tag("p", { class: "quiet" }, node.id),
    tag("p", { class: "text", dir: "auto" }, ...withNames(node.text, names)),
    node.isCut ? tag("p", { class: "quiet" }, "The text goes on; the page holds its beginning.") : "",
    section("Names it shares", names.length, tag("div", { class: "chips" }, ...names.map(chip))),
    factsOf(node),
  ];
}

function describeEntity(node) {
  const sources = acrossFrom(node);
  return [
    heading(node),
    section("Documents that name it", sources.length, tag("div", { class: "chips" }, ...sources.map(chip))),
    factsOf(node),
  ];
}

function describeBridge(node) {
  return [
    heading(node, "Bridging fact"),
    tag("p", { class: "text", dir: "auto" }, node.text),
    section("About", 1, tag("div", { class: "chips" }, chip(node.entity))),
    section("From", node.documents.length, ...node.documents.map((source) =>
      tag("article", { class: "source" }, chip(source), tag("p", { class: "quiet", dir: "auto" }, cut(source.text, 220))))),
  ];
}

function describeAll() {
  const best = [...entities].sort((a, b) => b.bridges.length - a.bridges.length).slice(0, 12);
  return [
    tag("h2", {}, data.name),
    tag("p", { class: "quiet" }, `${countOf(documents.length, "document")}, ${countOf(entities.length, "name")} that several of them share, and ${countOf(bridges.length, "bridging fact")} that join what they say.`),
    data.left_out ? tag("p", { class: "quiet" }, `The index holds more: ${countOf(data.left_out, "further document or fact", "further documents and facts")} left out, the least connected.`) : "",
    best.length
      ? section("Most connected", 1, tag("div", { class: "chips" }, ...best.map(chip)))
      : tag("p", {}, "No name is shared by several documents, so nothing is joined. Search finds the documents."),
  ];
}

function factsOf(node) {
  const cards = node.bridges.map((bridge) =>
    tag("li", {}, button(bridge, bridge.text, "fact"), tag("div", { class: "chips" }, ...endsOf(bridge).filter((end) => end !== node).map(chip))));
  return section("Bridging facts", cards.length, tag("ul", { class: "facts" }, ...cards));
}

// --- parts ---

function heading(node, name = node.name) {
  return tag("header", {}, tag("span", { class: `kind kind-${node.kind}` }, KINDS[node.kind]), tag("h2", { dir: "auto" }, name), centreButton(node));
}

function centreButton(node) {
  return tag("button", { type: "button", class: "centre", "data-centre": node.key }, "Centre");
}

function section(title, count, ...children) {
  if (!count) return "";
  return tag("section", {}, tag("h3", {}, title, count > 1 ? tag("span", { class: "quiet" }, ` ${count.toLocaleString("en")}`) : ""), ...children);
}

function chip(node) {
  return button(node, node.name, `chip ${node.kind}`);
}

function button(node, text, classes) {
  return tag("button", { type: "button", class: classes, "data-key": node.key, dir: "auto" }, text);
}

// The text with the names in it as buttons.
function withNames(text, names) {
  const byName = new Map(names.map((node) => [node.name.toLowerCase(), node]));
  const wanted = [...byName.keys()].sort((a, b) => b.length - a.length).map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  if (!wanted.length) return [text];
  const pieces = text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${wanted.join("|")})(?![\\p{L}\\p{N}])`, "giu"));
  return pieces.map((piece, place) => (place % 2 ? button(byName.get(piece.toLowerCase()) ?? names[0], piece, "inline") : piece));
}

function tag(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== ""));
  return element;
}

function countOf(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}
