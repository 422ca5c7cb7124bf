// The drawing: nodes and links as SVG, zooming and moving, and which names are written.

const SVG = "http://www.w3.org/2000/svg";
const LONGEST_LABEL = 34; // characters
const [LABEL_BELOW, LABEL_ABOVE] = [25, -16]; // from the middle of a node to the foot of its name
const CLOSEST = 4;
const FARTHEST = 0.08;
const GLIDE = 320; // milliseconds
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
const pen = document.createElement("canvas").getContext("2d");

class View {
  constructor(svg, { onChoose, onCentre }) {
    this.svg = svg;
    this.onChoose = onChoose;
    this.onCentre = onCentre;
    this.shown = [];
    this.links = [];
    this.parts = new Map(); // node → its elements
    this.selected = null;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.listenToPointer();
    this.listenToKeys();
    new ResizeObserver(() => this.resize()).observe(svg);
  }

  // --- what is drawn ---

  show(shown, links, focus) {
    const before = new Map(this.shown.map((node) => [node, { x: node.x, y: node.y }]));
    arrange(shown, links, focus);
    this.shown = shown;
    this.links = links;
    this.build();
    this.fit();
    this.glideFrom(before);
  }

  build() {
    const visible = new Set(this.shown);
    this.parts = new Map(this.shown.map((node) => [node, this.buildNode(node, visible)]));
    this.svg.querySelector(".nodes").replaceChildren(...[...this.parts.values()].map((part) => part.group));
    this.lines = this.links.map((link) => make("line", { class: `link to-${link.to.kind}` }));
    this.svg.querySelector(".links").replaceChildren(...this.lines);
  }

  buildNode(node, visible) {
    const hidden = neighboursOf(node).filter((each) => !visible.has(each)).length;
    const group = make("g", { class: `node ${node.kind}`, role: "button", tabindex: -1, "data-key": node.key });
    group.setAttribute("aria-label", `${KINDS[node.kind]}: ${node.name}${hidden ? `, ${hidden} more around it` : ""}`);
    const tip = make("title", {}, node.kind === "bridge" ? node.text : node.name);
    const shape = make("use", { href: `#shape-${node.kind}` });
    if (node.kind === "entity") shape.setAttribute("transform", `scale(${1 + Math.min(1, Math.sqrt(node.bridges.length) / 6)})`);
    const name = node.kind === "bridge" ? "" : cut(node.name, LONGEST_LABEL);
    const label = make("text", { "text-anchor": "middle" }, name);
    if (hidden && name) label.append(make("tspan", { class: "hidden-count", dx: 4 }, `+${hidden}`));
    group.append(tip, make("circle", { class: "reach", r: 16 }), shape, label);
    pen.font = `${node.kind === "entity" ? 600 : 400} 12.5px system-ui, sans-serif`;
    return { group, label, width: name ? pen.measureText(label.textContent).width + 10 : 0 };
  }

  select(node) {
    this.selected = node;
    const near = new Set([node, ...(node ? neighboursOf(node) : [])]);
    if (node && node.kind !== "bridge") node.bridges.flatMap(endsOf).forEach((each) => near.add(each));
    for (const [each, { group }] of this.parts) {
      group.classList.toggle("selected", each === node);
      group.classList.toggle("faint", Boolean(node) && !near.has(each));
      group.setAttribute("tabindex", each === node ? 0 : -1);
      group.setAttribute("aria-pressed", each === node);
    }
    if (this.parts.has(node)) this.svg.querySelector(".nodes").append(this.parts.get(node).group); // above all others
    else this.parts.get(this.shown[0])?.group.setAttribute("tabindex", 0);
    this.links.forEach((link, place) => {
      const isNear = node && (node.kind === "bridge" ? link.from === node : node.bridges.includes(link.from));
      this.lines[place].classList.toggle("near", Boolean(isNear));
      this.lines[place].classList.toggle("faint", Boolean(node) && !isNear);
    });
    this.placeLabels();
  }

  focus(node) {
    this.parts.get(node)?.group.focus({ preventScroll: true });
  }

  // --- where it is drawn ---

  place() {
    for (const [node, { group }] of this.parts) {
      const [x, y] = this.onScreen(node);
      group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    }
    this.links.forEach(({ from, to }, place) => {
      const [x1, y1] = this.onScreen(from);
      const [x2, y2] = this.onScreen(to);
      for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) this.lines[place].setAttribute(name, value.toFixed(1));
    });
  }

  onScreen(node) {
    return [node.x * this.scale + this.x, node.y * this.scale + this.y];
  }

  draw() {
    this.place();
    this.placeLabels();
  }

  // A name stands below its node, else above; where it would lie over another, it is left out, the more important ones
  // last. Zooming in brings them back.
  placeLabels() {
    const isFaint = (node) => this.parts.get(node).group.classList.contains("faint");
    const weight = (node) => (node === this.selected ? 1e6 : 0) + (isFaint(node) ? -1e4 : 0)
      + (node.kind === "entity" ? 1e3 : 0) + (node.bridges?.length ?? 0);
    const taken = this.shown.filter((node) => !isFaint(node)).map((node) => boxAround(this.onScreen(node), 8, -8, 8));
    for (const node of [...this.shown].sort((a, b) => weight(b) - weight(a))) {
      const { label, width } = this.parts.get(node);
      if (!width) continue;
      const boxes = [LABEL_BELOW, LABEL_ABOVE].map((y) => ({ y, ...boxAround(this.onScreen(node), width / 2, y - 12, y + 4) }));
      const isFree = (box) => !taken.some((other) => overlap(box, other));
      const free = node === this.selected ? boxes[0] : boxes.find(isFree);
      label.classList.toggle("unwritten", !free);
      label.setAttribute("y", (free ?? boxes[0]).y);
      if (free) taken.push(free);
    }
  }

  fit() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (!this.shown.length || !width) return;
    const xs = this.shown.map((node) => node.x);
    const ys = this.shown.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const [aside, above, below] = [Math.min(80, width / 7), 45, 85]; // room for names, and for the buttons below
    const wanted = Math.min((width - 2 * aside) / (right - left || 1), (height - above - below) / (bottom - top || 1));
    this.scale = clamp(wanted, FARTHEST, 1.6);
    this.x = width / 2 - ((left + right) / 2) * this.scale;
    this.y = (height + above - below) / 2 - ((top + bottom) / 2) * this.scale;
    this.draw();
  }

  resize() {
    if (this.shown.length) this.fit();
  }

  zoom(factor, x, y) {
    const { width, height } = this.svg.getBoundingClientRect();
    const [atX, atY] = [x ?? width / 2, y ?? height / 2];
    const scale = clamp(this.scale * factor, FARTHEST, CLOSEST);
    this.x = atX - ((atX - this.x) * scale) / this.scale;
    this.y = atY - ((atY - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  // What was there before moves to where it is now.
  glideFrom(before) {
    const moving = this.shown.filter((node) => before.has(node)).map((node) => ({ node, from: before.get(node), to: { x: node.x, y: node.y } }));
    const turn = (this.turn = {}); // a newer glide ends this one
    if (isStill.matches || !moving.length) return;
    const started = performance.now();
    const step = (now) => {
      if (this.turn !== turn) return;
      const part = 1 - (1 - clamp((now - started) / GLIDE, 0, 1)) ** 3;
      for (const { node, from, to } of moving) {
        node.x = from.x + (to.x - from.x) * part;
        node.y = from.y + (to.y - from.y) * part;
      }
      this.place();
      if (part < 1) requestAnimationFrame(step);
      else this.placeLabels();
    };
    step(started);
  }

  // --- pointer and keys ---

  listenToPointer() {
    const held = new Map();
    let wasMoved = false;
    const spread = () => {
      const [one, other] = [...held.values()];
      return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2, width: Math.hypot(one.x - other.x, one.y - other.y) };
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (!held.size) wasMoved = false;
      held.set(event.pointerId, this.pointOf(event));
    });
    this.svg.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const now = this.pointOf(event);
      if (!wasMoved && Math.hypot(now.x - last.x, now.y - last.y) < 4) return;
      if (!wasMoved) this.svg.setPointerCapture(event.pointerId); // not before: a captured pointer clicks no node
      wasMoved = true;
      const before = held.size === 2 ? spread() : null;
      held.set(event.pointerId, now);
      if (before) {
        const after = spread();
        this.zoom(after.width / (before.width || 1), after.x, after.y);
      }
      this.x += (now.x - last.x) / held.size;
      this.y += (now.y - last.y) / held.size;
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => held.delete(event.pointerId));
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { x, y } = this.pointOf(event);
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
    }, { passive: false });
    this.svg.addEventListener("click", (event) => {
      if (!wasMoved) this.onChoose(nodeOf(event));
    });
    this.svg.addEventListener("dblclick", (event) => {
      const node = nodeOf(event);
      if (node) this.onCentre(node);
    });
  }

  pointOf(event) {
    const box = this.svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  listenToKeys() {
    this.svg.addEventListener("keydown", (event) => {
      const node = nodeOf(event);
      const actions = {
        ArrowLeft: () => this.step(node, -1, 0), ArrowRight: () => this.step(node, 1, 0),
        ArrowUp: () => this.step(node, 0, -1), ArrowDown: () => this.step(node, 0, 1),
        Enter: () => this.onCentre(node), " ": () => this.onChoose(node),
        "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(),
      };
      if (!node || event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
  }

  // To the nearest node in a direction.
  step(node, right, down) {
    const cost = (other) => {
      const along = (other.x - node.x) * right + (other.y - node.y) * down;
      const aside = Math.abs((other.x - node.x) * down) + Math.abs((other.y - node.y) * right);
      return along > 1 ? along + 2 * aside : Infinity;
    };
    const best = this.shown.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    if (cost(best) === Infinity) return;
    this.onChoose(best);
    this.focus(best);
  }
}

function make(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

function nodeOf(event) {
  return nodeByKey.get(event.target.closest(".node")?.dataset.key) ?? null;
}

function boxAround([x, y], aside, above, below) {
  return { left: x - aside, right: x + aside, top: y + above, bottom: y + below };
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

function cut(text, length) {
  const characters = [...text];
  return characters.length > length ? `${characters.slice(0, length - 1).join("").trimEnd()}…` : text;
}
