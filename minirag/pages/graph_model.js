// What the page knows: documents, names and bridging facts, what hangs together, and how to find it.

const data = JSON.parse(document.getElementById("data").textContent);

const documents = data.documents.map(([id, title, text, isCut], place) => ({
  key: `d${place}`, kind: "document", name: title || id, id, text, isCut, bridges: [],
}));
const entities = data.entities.map((name, place) => ({
  key: `e${place}`, kind: "entity", name, text: "", bridges: [],
}));
const bridges = data.bridges.map(([entity, text, sources], place) => ({
  key: `b${place}`, kind: "bridge", name: text, text, entity: entities[entity], documents: sources.map((source) => documents[source]),
}));
for (const bridge of bridges) {
  for (const end of endsOf(bridge)) end.bridges.push(bridge);
}

const nodes = [...documents, ...entities, ...bridges];
const nodeByKey = new Map(nodes.map((node) => [node.key, node]));
const KINDS = { document: "document", entity: "shared name", bridge: "bridging fact" };

function endsOf(bridge) {
  return [bridge.entity, ...bridge.documents];
}

function neighboursOf(node) {
  return node.kind === "bridge" ? endsOf(node) : node.bridges;
}

// The documents of a name, or the names of a document, each once.
function acrossFrom(node) {
  const across = node.kind === "entity" ? (bridge) => bridge.documents : (bridge) => [bridge.entity];
  return [...new Set(node.bridges.flatMap(across))];
}

// What is around a node, nearest first: a bridging fact comes with all that it joins, or not at all.
function neighbourhood(focus, most) {
  if (nodes.length <= 1.6 * most) return nodes; // then rather all of it
  const shown = new Set([focus]);
  for (const node of shown) {
    for (const bridge of node.kind === "bridge" ? [node] : node.bridges) {
      const fresh = [bridge, ...endsOf(bridge)].filter((each) => !shown.has(each));
      if (shown.size + fresh.length > most) return [...shown];
      fresh.forEach((each) => shown.add(each));
    }
  }
  return [...shown];
}

function linksAmong(shown) {
  const visible = new Set(shown);
  return shown
    .filter((node) => node.kind === "bridge")
    .flatMap((bridge) => endsOf(bridge).filter((end) => visible.has(end)).map((end) => ({ from: bridge, to: end })));
}

// The name with the most bridging facts, else any document.
function mostConnected() {
  return entities.reduce((best, each) => (best && best.bridges.length >= each.bridges.length ? best : each), null)
    || documents[0];
}

// --- search ---

function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

// Lower is better; Infinity where not all words are there.
function rankOf(node, words, whole) {
  node.foldedName ??= folded(node.kind === "document" && node.id !== node.name ? `${node.name} ${node.id}` : node.name);
  const name = node.foldedName;
  const order = { entity: 0, document: 1, bridge: 2 }[node.kind];
  if (name === whole) return order;
  if (node.kind !== "bridge" && name.startsWith(whole)) return 10 + order;
  if (words.every((word) => name.includes(word))) return 20 + order;
  if (node.kind !== "document") return Infinity;
  node.foldedText ??= folded(node.text);
  return words.every((word) => name.includes(word) || node.foldedText.includes(word)) ? 30 : Infinity;
}

function searchNodes(query) {
  const whole = folded(query).trim();
  const words = whole.split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  return nodes
    .map((node) => ({ node, rank: rankOf(node, words, whole) }))
    .filter((found) => found.rank < Infinity)
    .sort((a, b) => a.rank - b.rank || b.node.bridges?.length - a.node.bridges?.length || 0)
    .map((found) => found.node);
}

// What a list of finds shows: the name, or the part of a bridging fact where the first word stands.
function excerpt(node, query) {
  const at = node.name.toLowerCase().indexOf(query.trim().split(/\s+/)[0].toLowerCase());
  const start = at > 70 ? node.name.lastIndexOf(" ", at - 30) + 1 : 0;
  return (start ? "… " : "") + cut(node.name.slice(start), 120);
}
