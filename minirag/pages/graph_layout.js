// Where nodes are drawn: they push each other away, links pull them together. Gives each node its x and y.

const ROUNDS = 260;
const LENGTH = { entity: 55, document: 85 }; // of a link from a bridging fact
const PUSH = { document: 900, entity: 1300, bridge: 380 };
const STRETCH = 0.75; // names are wide: sideways, nodes count as nearer than they are

function arrange(shown, links, focus) {
  const placed = shown.map((node, place) => startOf(node, place));
  const at = new Map(shown.map((node, place) => [node, placed[place]]));
  const springs = links.map(({ from, to }) => ({ from: at.get(from), to: at.get(to), length: LENGTH[to.kind] }));
  for (const spring of springs) {
    spring.from.degree += 1;
    spring.to.degree += 1;
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = (1 - round / ROUNDS) ** 1.5;
    pushApart(placed, heat);
    springs.forEach((spring) => pull(spring, heat));
    move(placed);
  }
  const middle = at.get(focus) ?? { x: 0, y: 0 };
  shown.forEach((node, place) => {
    node.x = placed[place].x - middle.x;
    node.y = placed[place].y - middle.y;
  });
}

// A spiral: the same neighbourhood always looks the same.
function startOf(node, place) {
  const radius = 24 * Math.sqrt(place);
  const angle = place * 2.399963;
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle), vx: 0, vy: 0, push: PUSH[node.kind], degree: 0 };
}

function pushApart(placed, heat) {
  for (let i = 0; i < placed.length; i += 1) {
    const one = placed[i];
    for (let j = i + 1; j < placed.length; j += 1) {
      const other = placed[j];
      const dx = (other.x - one.x) * STRETCH;
      const dy = other.y - one.y;
      const square = Math.max(dx * dx + dy * dy, 60);
      const force = (heat * Math.sqrt(one.push * other.push)) / square;
      const away = force / Math.sqrt(square);
      one.vx -= dx * away * 6;
      one.vy -= dy * away * 6;
      other.vx += dx * away * 6;
      other.vy += dy * away * 6;
    }
  }
}

function pull({ from, to, length }, heat) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const distance = Math.hypot(dx, dy) || 1;
  const force = (heat * 0.55 * (distance - length)) / distance;
  const share = from.degree / (from.degree + to.degree); // what has many links moves little
  to.vx -= dx * force * share;
  to.vy -= dy * force * share;
  from.vx += dx * force * (1 - share);
  from.vy += dy * force * (1 - share);
}

function move(placed) {
  for (const each of placed) {
    each.vx = (each.vx - each.x * 0.006) * 0.6;
    each.vy = (each.vy - each.y * 0.007) * 0.6;
    each.x += each.vx;
    each.y += each.vy;
  }
}
