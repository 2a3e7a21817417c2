// The token heatmap: everything here happens in the browser, from numbers that one forward pass gave.
// Text is only ever set as text (textContent), never as markup.

const HIDDEN_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
const MARKED_CHARACTERS = new RegExp("[\\n\\r\\t]|" + HIDDEN_CHARACTERS.source, "g");
const QUIET_MARKS = { "\n": "↵", "\r": "␍", "\t": "→" };
const RIGHT_TO_LEFT_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/;

// Where each colour ends, from least to most surprising; nine levels at most.
const COLOURINGS = {
  logprob: { edges: [-0.5, -1, -2, -3, -4.5, -6, -8, -10], unit: "nats", name: "log-probability" },
  rank: { edges: [1, 10, 100, 1000], levels: ["l0", "l2", "l4", "l6", "l8"], unit: "", name: "rank" },
  z: { edges: [1, 0.5, 0, -0.5, -1, -2, -3, -4], unit: "standard deviations", name: "z" },
  difference: {
    edges: [3, 1.5, 0.5, 0.1, -0.1, -0.5, -1.5, -3],
    levels: ["d4", "d3", "d2", "d1", "l0", "l2", "l4", "l6", "l8"],
    unit: "nats",
    name: "log-probability less that of the other model",
    meaning: "orange: less expected than by the other model, blue: more",
  },
};

const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
const floats = (base64) => (base64 === null ? null : new Float32Array(bytes(base64)));
const integers = (base64) => (base64 === null ? null : new Int32Array(bytes(base64)));
const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");
const whole = (value) => value.toLocaleString("en-US");
const percent = (p) => (p >= 0.0001 ? `${(100 * p).toFixed(p >= 0.1 ? 1 : 2)}%` : `${(100 * p).toExponential(1).replace("-", "−")}%`);

export default function mount({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".heatmap");
  followTheme(root);
  if (root.view?.id === data.id) return root.view.stop;
  root.view?.stop();
  root.view = build(root, data, setStateValue);
  return root.view.stop;
}

// Light or dark is read off the page's own background, so that a theme change is followed whoever made it.
function followTheme(root) {
  const [r, g, b] = getComputedStyle(root.querySelector(".text")).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [255, 255, 255];
  root.classList.toggle("dark", 0.2126 * r + 0.7152 * g + 0.0722 * b < 110);
}

function build(root, data, setStateValue) {
  const find = (name) => root.querySelector(`.${name}`);
  const [pane, card, map, kInput] = ["text", "card", "minimap", "k-input"].map(find);
  const stopped = new AbortController();
  const on = (target, event, act) => target.addEventListener(event, act, { signal: stopped.signal });

  const model = decode(data);
  const spans = drawCells(pane, model);
  let k = data.k;
  let colourBy = data.colour_by ?? "logprob";
  let current = -1;
  let outlinedCount = 0;
  let tops; // where each cell stands in the pane, until its width changes
  let frame = 0;

  for (const option of find("colour-by").options) {
    option.disabled = model.values[option.value] === null;
    option.hidden = option.disabled && option.value === "difference"; // there only where two models are compared
    option.selected = option.value === colourBy;
  }
  find("unit").value = "tokens";
  kInput.value = k;

  // The bottom k% by whatever the colours show: log-probability for Min-K% (also under ranks), z for Min-K%++.
  const orderedBy = () => (colourBy === "z" ? "z" : "logprob");

  function colour() {
    const { edges, levels } = COLOURINGS[colourBy];
    const shown = unitValues(model, colourBy, find("unit").value);
    spans.forEach((span, i) => {
      if (shown[i] === null) return;
      const level = edges.findIndex((edge) => (colourBy === "rank" ? shown[i] <= edge : shown[i] >= edge));
      const place = level === -1 ? edges.length : level;
      span.className = span.className.replace(/\b[ld]\d\b/, levels ? levels[place] : `l${place}`);
    });
    drawLegend(find("legend"), colourBy);
  }

  // Only the tokens between the old cut and the new one change, so a step of the slider costs little.
  function outline(restart = false) {
    const { sorted } = model.orders[orderedBy()];
    const count = bottomCount(k, model.n);
    if (restart) {
      model.lowTokens.forEach((n, cell) => n && spans[cell].classList.remove("low"));
      model.lowTokens.fill(0);
      outlinedCount = 0;
    }
    for (; outlinedCount < count; outlinedCount++) {
      const cell = model.cellOfToken[sorted[outlinedCount]];
      if (model.lowTokens[cell]++ === 0) spans[cell].classList.add("low");
    }
    for (; outlinedCount > count; outlinedCount--) {
      const cell = model.cellOfToken[sorted[outlinedCount - 1]];
      if (--model.lowTokens[cell] === 0) spans[cell].classList.remove("low");
    }
    find("k-value").textContent = `${k}%`;
    find("readout").replaceChildren(...readout(model, k));
    drawMapSoon();
  }

  function drawMapSoon() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(drawMap);
  }

  function drawMap() {
    const scrolls = pane.scrollHeight > pane.clientHeight + 4;
    map.hidden = !scrolls;
    if (!scrolls) return;
    tops ??= spans.map((span) => span.offsetTop);
    const height = pane.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    map.style.height = `${height}px`;
    map.width = 22 * ratio;
    map.height = height * ratio;
    const brush = map.getContext("2d");
    brush.scale(ratio, ratio);
    brush.fillStyle = getComputedStyle(root).getPropertyValue("--mark");
    const scale = height / pane.scrollHeight;
    brush.globalAlpha = Math.max(0.25, Math.min(1, 60 / outlinedCount));
    model.lowTokens.forEach((n, cell) => n && brush.fillRect(3, tops[cell] * scale, 16, 1.5));
    brush.globalAlpha = 0.16;
    brush.fillRect(0, pane.scrollTop * scale, 22, pane.clientHeight * scale);
    brush.globalAlpha = 0.7;
    brush.strokeStyle = brush.fillStyle;
    brush.strokeRect(0.5, pane.scrollTop * scale + 0.5, 21, pane.clientHeight * scale - 1);
  }

  function show(i, moveTo) {
    spans[current]?.classList.remove("current");
    current = i;
    const span = spans[i];
    span.classList.add("current");
    if (moveTo) {
      const offset = span.offsetTop - pane.scrollTop;
      if (offset < 0 || offset > pane.clientHeight - 40) pane.scrollTop = span.offsetTop - pane.clientHeight / 2;
      find("spoken").textContent = sentence(model, i, k);
    }
    fillCard(card, model, i, k, orderedBy());
    card.hidden = false;
    place(card, span, root);
  }

  function step(by) {
    let i = current + by;
    while (i >= 0 && i < spans.length && !model.scored[i]) i += by;
    if (i >= 0 && i < spans.length) show(i, true);
  }

  function jump(forward) {
    const low = [...model.lowTokens.keys()].filter((cell) => model.lowTokens[cell]);
    const next = forward ? low.find((i) => i > current) : low.findLast((i) => i < current);
    show(next ?? (forward ? low[0] : low[low.length - 1]), true);
  }

  on(kInput, "input", () => {
    k = Number(kInput.value);
    outline();
    if (current >= 0 && !card.hidden) fillCard(card, model, current, k, orderedBy());
  });
  // Only a finished move is told to the page, which redraws its charts; the text above has followed already.
  on(kInput, "change", () => setStateValue("k", k));
  on(find("colour-by"), "change", (event) => {
    colourBy = event.target.value;
    colour();
    outline(true);
  });
  on(find("unit"), "change", colour);
  on(find("next"), "click", () => jump(true));
  on(find("previous"), "click", () => jump(false));
  // Browsers also tell when text slides under a pointer at rest (by key, by scrolling, by the page still drawing
  // itself). Once keys are in use only a pointer seen at two places has moved, or theirs would be lost.
  let byKey = false;
  let rest;
  on(pane, "mousemove", (event) => {
    const here = `${event.clientX} ${event.clientY}`;
    if (byKey && (rest === undefined || rest === here)) {
      rest = here;
      return;
    }
    byKey = false;
    const i = event.target.closest?.(".cell")?.place;
    if (i !== undefined && (i !== current || card.hidden)) show(i, false);
  });
  // The place is kept, so that the buttons and keys go on from there.
  const hide = () => {
    card.hidden = true;
    spans[current]?.classList.remove("current");
  };
  on(pane, "mouseleave", hide);
  on(pane, "blur", hide);
  on(pane, "scroll", drawMapSoon);
  on(pane, "keydown", (event) => {
    const act = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      n: () => jump(true),
      p: () => jump(false),
      Escape: hide,
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    byKey = true;
    rest = undefined;
    act();
  });
  const toMapPlace = (event) => {
    if (event.buttons) pane.scrollTop = (event.offsetY / map.clientHeight) * pane.scrollHeight - pane.clientHeight / 2;
  };
  on(map, "pointerdown", toMapPlace);
  on(map, "pointermove", toMapPlace);
  const resized = new ResizeObserver(() => {
    tops = undefined;
    drawMapSoon();
  });
  resized.observe(pane);

  colour();
  outline();
  const stop = () => {
    stopped.abort();
    resized.disconnect();
    cancelAnimationFrame(frame);
    root.view = undefined;
  };
  return { id: data.id, stop };
}

function decode(data) {
  const logprob = floats(data.logprob);
  const [expected, variance, rank] = [floats(data.expected), floats(data.variance), integers(data.rank)];
  const z = expected && Float32Array.from(logprob, (l, i) => (l - expected[i]) / Math.fround(Math.sqrt(variance[i])));
  const against = data.against ? floats(data.against) : null; // of another model, token by token
  const difference = against && Float32Array.from(logprob, (l, i) => l - against[i]);
  const [firstToken, tokenCount] = [integers(data.first_token), integers(data.token_count)];
  const cellOfToken = new Int32Array(logprob.length);
  firstToken.forEach((first, cell) => cellOfToken.fill(cell, first, first + tokenCount[cell]));
  return {
    n: logprob.length,
    vocabulary: data.vocabulary,
    values: { logprob, rank, z, difference },
    expected,
    cells: data.cells,
    firstToken,
    tokenCount,
    cellOfToken,
    scored: [...tokenCount].map((count) => count > 0),
    groups: { words: groupsOf(data.cells, startsWord), sentences: groupsOf(data.cells, startsSentence) },
    orders: { logprob: ordered(logprob), z: z && ordered(z) },
    pieces: data.pieces,
    piece: integers(data.piece),
    top: data.top,
    alternative: integers(data.alternative),
    alternativeLogprob: floats(data.alternative_logprob),
    lowTokens: new Int32Array(data.cells.length), // how many of a cell's tokens are in the bottom k%
  };
}

// Tokens from lowest to highest, with running sums, so that any k's mean is one division away.
function ordered(values) {
  const sorted = Int32Array.from(values.keys()).sort((a, b) => values[a] - values[b] || a - b);
  const sums = new Float64Array(values.length + 1);
  sorted.forEach((token, i) => { sums[i + 1] = sums[i] + values[token]; });
  return { sorted: [...sorted], sums };
}

function bottomCount(k, n) {
  return Math.max(1, Math.floor((k * n) / 100));
}

function readout(model, k) {
  const count = bottomCount(k, model.n);
  const parts = [];
  const say = (label, value) => {
    const bold = document.createElement("b");
    bold.textContent = value;
    parts.push(label, bold);
  };
  say(`Min-K% (k = ${k}%): `, `${fixed(model.orders.logprob.sums[count] / count, 4)} nats`);
  if (model.orders.z) say(" · Min-K%++: ", `${fixed(model.orders.z.sums[count] / count, 4)} standard deviations`);
  say(" · outlined: ", `${whole(count)} of ${whole(model.n)} tokens`);
  return parts;
}

function groupsOf(cells, starts) {
  let group = 0;
  return cells.map((text, i) => (i > 0 && starts(text, cells[i - 1]) ? ++group : group));
}

function startsWord(text, before) {
  return /^\s/.test(text) || /\s$/.test(before);
}

function startsSentence(text, before) {
  return startsWord(text, before) && (/[.!?…。！？]["'’”)\]]*\s*$/.test(before) || /\n/.test(text) || /\n\s*$/.test(before));
}

// One value a cell: of its own tokens, or of the whole word or sentence. Means, but the worst rank.
function unitValues(model, colourBy, unit) {
  const values = model.values[colourBy];
  const group = unit === "tokens" ? null : model.groups[unit];
  const sums = new Map();
  const key = (cell) => (group ? group[cell] : cell);
  for (let token = 0; token < model.n; token++) {
    const place = key(model.cellOfToken[token]);
    const sum = sums.get(place) ?? { total: 0, count: 0, worst: -Infinity, least: Infinity };
    sum.total += values[token];
    sum.count += 1;
    sum.worst = Math.max(sum.worst, values[token]);
    sum.least = Math.min(sum.least, values[token]);
    sums.set(place, sum);
  }
  return model.cells.map((_, cell) => {
    if (!model.scored[cell]) return null;
    const sum = sums.get(key(cell));
    if (colourBy === "rank") return sum.worst;
    return group ? sum.total / sum.count : sum.least;
  });
}

function drawCells(pane, model) {
  const spans = model.cells.map((text, i) => {
    const span = document.createElement("span");
    span.className = model.scored[i] ? "cell l0" : "cell unscored";
    if (RIGHT_TO_LEFT_CONTROLS.test(text)) span.classList.add("isolated");
    span.place = i;
    writeVisibly(span, text);
    return span;
  });
  pane.replaceChildren(...spans);
  return spans;
}

// Line breaks, tabs and characters that would otherwise hide get a quiet mark before them. The mark is drawn
// by the style sheet, so that copying the text gives the text.
function writeVisibly(span, text) {
  let from = 0;
  const put = (piece, mark, className) => {
    if (!mark) {
      span.append(piece);
      return;
    }
    const quiet = document.createElement("span");
    quiet.className = `quiet ${className}`;
    quiet.dataset.mark = mark;
    quiet.textContent = piece;
    span.append(quiet);
  };
  if (/^ +$/.test(text)) {
    put(text, "·".repeat(text.length), "replaced");
    return;
  }
  for (const match of text.matchAll(MARKED_CHARACTERS)) {
    if (match.index > from) put(text.slice(from, match.index));
    const mark = QUIET_MARKS[match[0]];
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    put(match[0], mark ?? `U+${code}`, mark ? "" : "hidden-character replaced");
    from = match.index + match[0].length;
  }
  if (from < text.length) put(text.slice(from));
}

function drawLegend(legend, colourBy) {
  const { edges, levels, unit, name, meaning: said } = COLOURINGS[colourBy];
  const swatches = document.createElement("span");
  swatches.className = "swatches";
  for (let i = 0; i <= edges.length; i++) {
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    const block = document.createElement("i");
    block.className = levels ? levels[i] : `l${i}`;
    const [upTo, beyond] = colourBy === "rank" ? ["≤", ">"] : ["≥", "<"];
    const label = i < edges.length ? `${upTo} ${whole(edges[i])}` : `${beyond} ${whole(edges[i - 1])}`;
    swatch.append(block, label.replace("-", "−"));
    swatches.append(swatch);
  }
  const sample = document.createElement("span");
  sample.className = "cell low sample";
  sample.textContent = "outlined";
  const meaning = colourBy === "z" ? "the k% lowest by z" : "the k% least expected tokens";
  const outlined = document.createElement("span");
  outlined.append(sample, ` ${meaning}`);
  legend.replaceChildren(`${name}${unit ? `, ${unit}` : ""} (${said ?? "stronger: less expected"})`, swatches, outlined);
}

// Of a cell's tokens the one that was least expected: what the card is about.
function leastExpected(model, cell, values) {
  const first = model.firstToken[cell];
  let token = first;
  for (let i = first; i < first + model.tokenCount[cell]; i++) {
    if (values[i] < values[token]) token = i;
  }
  return token;
}

function isLow(model, cell) {
  return model.lowTokens[cell] > 0;
}

function fillCard(card, model, cell, k, shownBy) {
  const word = document.createElement("div");
  word.className = "word";
  writeVisibly(word, model.cells[cell]);
  if (!model.scored[cell]) {
    const why = document.createElement("p");
    why.textContent = "Not scored: nothing comes before it that could predict it.";
    card.replaceChildren(word, why);
    return;
  }
  const token = leastExpected(model, cell, model.values[shownBy]);
  const list = document.createElement("dl");
  const row = (name, value) => {
    const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    detail.textContent = value;
    list.append(term, detail);
  };
  const { logprob, rank, z, difference } = model.values;
  if (model.tokenCount[cell] > 1) {
    row("made of", `${model.tokenCount[cell]} tokens`);
    row("least expected", model.pieces[model.piece[token]]);
  }
  row("log-probability", `${fixed(logprob[token], 3)} nats`);
  if (difference) row("less the other model's", `${difference[token] > 0 ? "+" : ""}${fixed(difference[token], 3)} nats`);
  row("probability", percent(Math.exp(logprob[token])));
  if (rank) row("rank", `${whole(rank[token])} of ${whole(model.vocabulary)}`);
  if (model.expected) row("entropy here", `${fixed(-model.expected[token], 2)} nats`);
  if (z) row("Min-K%++ z", fixed(z[token], 2));
  row(`in the bottom ${k}%`, isLow(model, cell) ? "yes" : "no");
  card.replaceChildren(word, list);
  if (model.top) card.append(...alternatives(model, token));
}

function alternatives(model, token) {
  const heading = document.createElement("div");
  heading.textContent = "The model's likeliest here:";
  const list = document.createElement("ol");
  for (let i = token * model.top; i < (token + 1) * model.top; i++) {
    const p = Math.exp(model.alternativeLogprob[i]);
    const [item, bar, name, value] = ["li", "i", "span", "span"].map((tag) => document.createElement(tag));
    bar.style.width = `${Math.max(1, 100 * p)}%`;
    name.textContent = model.pieces[model.alternative[i]].replace(/ /g, "␣").replace(/\n/g, "↵").replace(/\t/g, "→");
    value.textContent = percent(p);
    item.classList.toggle("chosen", model.alternative[i] === model.piece[token]);
    item.append(bar, name, value);
    list.append(item);
  }
  return [heading, list];
}

function sentence(model, cell, k) {
  if (!model.scored[cell]) return `${model.cells[cell]}, not scored`;
  const token = leastExpected(model, cell, model.values.logprob);
  const { logprob, rank } = model.values;
  return [
    model.cells[cell],
    `log-probability ${fixed(logprob[token], 2)}`,
    rank ? `rank ${whole(rank[token])}` : "",
    isLow(model, cell) ? `in the bottom ${k} percent` : "",
  ].filter(Boolean).join(", ");
}

// Beside the token, and inside the component: below it where there is room, else above.
function place(card, span, root) {
  const [box, frame] = [span.getBoundingClientRect(), root.getBoundingClientRect()];
  const below = box.bottom - frame.top + 8;
  const fits = box.bottom + card.offsetHeight + 12 < window.innerHeight || box.top < card.offsetHeight + 12;
  card.style.top = `${fits ? below : box.top - frame.top - card.offsetHeight - 8}px`;
  card.style.left = `${Math.max(0, Math.min(box.left - frame.left, frame.width - card.offsetWidth - 4))}px`;
}
