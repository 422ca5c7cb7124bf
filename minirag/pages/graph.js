// The page: what is selected, what is drawn around it, and the search box.

const AROUND = innerWidth < 600 ? 40 : 70; // nodes drawn at first
const MOST_AROUND = 8 * AROUND;
const MOST_FOUND = 40;
const MARK = "node="; // in the address, so that "back" works and a place can be passed on

const panel = document.querySelector(".panel");
const box = document.getElementById("search");
const found = document.querySelector(".found");
const results = document.getElementById("results");
const view = new View(document.getElementById("graph"), { onChoose: choose, onCentre: centre });
let around = AROUND;
let focus = null;

// --- selecting ---

function choose(node) {
  view.select(node);
  panel.replaceChildren(...(node ? describe(node) : describeAll()).filter(Boolean));
  panel.scrollTop = 0;
}

// Draw what is around a node, and select it.
function centre(node) {
  const hash = `#${MARK}${node.key}`;
  if (location.hash === hash) show(node);
  else location.hash = hash; // comes back as a hashchange
}

function show(node, selected = node) {
  focus = node;
  const shown = node ? neighbourhood(node, around) : [];
  view.show(shown, linksAmong(shown), node);
  choose(selected);
  document.getElementById("more").disabled = !node || around >= MOST_AROUND
    || neighbourhood(node, 2 * around).length === shown.length;
  document.getElementById("fewer").disabled = around <= AROUND;
  view.focus(selected);
}

function go(node) {
  if (view.parts.has(node)) choose(node);
  else centre(node);
}

function showAddress() {
  const node = nodeByKey.get(location.hash.replace(`#${MARK}`, ""));
  show(node ?? mostConnected(), node ?? null);
}

panel.addEventListener("click", (event) => {
  const target = event.target.closest("button");
  if (target?.dataset.centre) centre(nodeByKey.get(target.dataset.centre));
  else if (target?.dataset.key) go(nodeByKey.get(target.dataset.key));
});

function resizeAround(factor) {
  around = clamp(around * factor, AROUND, MOST_AROUND);
  show(focus, view.selected);
}

document.getElementById("more").addEventListener("click", () => resizeAround(2));
document.getElementById("fewer").addEventListener("click", () => resizeAround(1 / 2));
document.getElementById("closer").addEventListener("click", () => view.zoom(1.4));
document.getElementById("farther").addEventListener("click", () => view.zoom(1 / 1.4));
document.getElementById("fit").addEventListener("click", () => view.fit());
addEventListener("hashchange", showAddress);

// --- searching ---

let active = -1;

function list(query) {
  const all = searchNodes(query);
  const first = all.slice(0, MOST_FOUND);
  results.replaceChildren(...first.map((node, place) =>
    tag("li", { role: "option", id: `result-${place}`, "data-key": node.key, "aria-selected": "false" },
      tag("span", { class: `kind kind-${node.kind}` }, KINDS[node.kind]), tag("span", { dir: "auto" }, excerpt(node, query)))));
  const more = all.length > first.length ? `, the first ${first.length} of them here` : "";
  found.querySelector(".count").textContent = query.trim() ? `${countOf(all.length, "match", "matches")}${more}` : "";
  open(Boolean(query.trim()));
  activate(first.length ? 0 : -1);
}

function open(isOpen) {
  found.hidden = !isOpen;
  box.setAttribute("aria-expanded", String(isOpen));
}

function activate(place) {
  results.children[active]?.setAttribute("aria-selected", "false");
  active = place;
  const option = results.children[active];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) box.setAttribute("aria-activedescendant", option.id);
  else box.removeAttribute("aria-activedescendant");
}

function take(option) {
  if (!option) return;
  open(false);
  centre(nodeByKey.get(option.dataset.key));
}

let waiting = 0;
box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => list(box.value), 80);
});
box.addEventListener("focus", () => open(Boolean(box.value.trim())));
box.addEventListener("keydown", (event) => {
  const last = results.children.length - 1;
  if (event.key === "ArrowDown") activate(Math.min(active + 1, last));
  else if (event.key === "ArrowUp") activate(Math.max(active - 1, 0));
  else if (event.key === "Enter") {
    clearTimeout(waiting);
    list(box.value);
    take(results.children[active]);
  } else if (event.key === "Escape") open(false);
  else return;
  event.preventDefault();
});
results.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus until the click
results.addEventListener("click", (event) => take(event.target.closest("li")));
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".search")) open(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input")) {
    event.preventDefault();
    box.focus();
  }
});

// --- start ---

document.querySelector(".name").textContent = data.name;
for (const [kind, all] of Object.entries({ document: documents, entity: entities, bridge: bridges })) {
  document.querySelector(`.legend .${kind} span`).textContent = countOf(all.length, KINDS[kind]);
}
showAddress();
