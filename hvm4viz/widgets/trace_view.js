// The view of a trace: overview, heap, inspector, events, transport. One module, no library, no network.
//
// Reading order: words and small tools, frames and questions, the store (what is known of a trace), terms, statuses,
// maps, the panes (overview, heap, inspector, events, source, transport), search, the view that holds them, the module.
//
// Rules kept here: text of programs and traces reaches the page by textContent or canvas alone; the view asks, the
// kernel only answers; nothing is kept outside the objects that `start` makes.

// ---------------------------------------------------------------- Words and small tools

const NEVER = 0xffffffff;
const CHUNK = 1 << 16;                      // cells that are loaded together
const WINDOW_BYTES = 1 << 20;               // as service.py cuts passes into windows
const CELL_BYTES = 19;                      // that a cell of a large trace takes here
const BOXES_MAX = 400, TILES_MAX = 20000;   // cells in sight up to which they are boxes, and tiles: each is drawn by itself
const MOTION_MS = 150, MOTION_RATE_MAX = 8; // animation of one step; rate above which there is none
const STALL_AGE = 8;                        // passes that an entry waits before the banner speaks of it

const STATUS = { none: 0, freed: 1, idle: 2, reduced: 3, sub: 4, frontier: 5, deferred: 6, error: 7 };
const STATUS_NAMES = ["not in use", "freed", "idle", "reduced", "SUB", "frontier", "deferred", "error"];
const PALETTES = {
  okabe_ito: ["", "#999999", "#8a8a8a", "#009E73", "#CC79A7", "#0072B2", "#E69F00", "#D55E00"],
  grey: ["", "#bdbdbd", "#9a9a9a", "#7d7d7d", "#5c5c5c", "#3c3c3c", "#202020", "#000000"],
};
const CIVIDIS = "00224e002e6a1a386f32436d434e6c535a6d61656f6f70737d7c788c88789b9476aba072bcae6ccdbb63dec958f0d846fee838";
const PINNED = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8a8a8a"];

const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);
const NUMBER = new Intl.NumberFormat("en-US");
const count = (n) => NUMBER.format(n);
const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

function el(tag, name = "", text = "", parent = null) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function hear(node, kind, act, how) {
  node.addEventListener(kind, act, how);
}

function voice(node, text) {
  node.setAttribute("aria-label", text);
}

function button(parent, text, label, act, name = "") {
  const node = el("button", `hv-button ${name}`, text, parent);
  node.type = "button";
  node.title = label;
  name_(node, text, label);
  hear(node, "click", act);
  return node;
}

// What is seen is part of what is heard, unless it is a mere sign.
function name_(node, text, label) {
  voice(node, !/[a-z0-9]/i.test(text) || label.toLowerCase().includes(text.toLowerCase()) ? label : `${text}: ${label}`);
}

function choice(parent, label, options, act) {
  const node = el("select", "hv-select", "", parent);
  voice(node, label);
  node.title = label;
  for (const [value, text] of options) {
    const item = el("option", "", text, node);
    item.value = value;
  }
  hear(node, "change", () => act(node.value));
  return node;
}

// Makes what would move the cursor or turn the line around visible, as escape.py does.
function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]/gu, (c) => {
    const code = c.codePointAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

function lowerBound(list, value, lo = 0, hi = list.length) {
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (list[mid] < value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

function find(list, value) {
  const i = lowerBound(list, value);
  return list[i] === value ? i : -1;
}

const ratio = () => window.devicePixelRatio || 1;

function fitCanvas(canvas, width, height) {
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio());
  canvas.height = Math.round(height * ratio());
}

// The pen of a canvas, wiped clean: in CSS pixels.
function penOf(canvas) {
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  return pen;
}

function ink(pen, color, wide, dash = []) {
  Object.assign(pen, { strokeStyle: color, lineWidth: wide });
  pen.setLineDash(dash);
}

function line(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

// Text that is only touched when it changes, and whole in the tip.
function retell(node, text) {
  if (node.textContent !== text) node.textContent = node.title = text;
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

const RAMP = (() => {
  const stops = CIVIDIS.match(/.{6}/g).map((hex) => rgb(`#${hex}`));
  const ramp = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i += 1) {
    const at = (i / 255) * (stops.length - 1), lo = Math.min(Math.floor(at), stops.length - 2), part = at - lo;
    for (let k = 0; k < 3; k += 1) ramp[3 * i + k] = Math.round(stops[lo][k] * (1 - part) + stops[lo + 1][k] * part);
  }
  return ramp;
})();

// ---------------------------------------------------------------- Frames and questions

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array, u8: Uint32Array };

function unpack(head, bytes) {
  const frame = { ...head };
  let at = 0;
  for (const [name, code, length] of head.cols || []) {
    const Kind = ARRAYS[code];
    const n = code === "u8" ? 2 * length : length;   // a word: low half, high half
    frame[name] = new Kind(bytes, at, n);
    at += Math.ceil((n * Kind.BYTES_PER_ELEMENT) / 8) * 8;
  }
  frame.bytes = bytes.byteLength;
  return frame;
}

// Asks questions, at most four at once and fewer than fifty messages a second; puts answers in parts together.
class Channel {
  constructor(model, changed) {
    this.model = model;
    this.changed = changed;      // called when the state of the connection changes
    this.state = "ready";        // ready, busy, gone
    this.asked = 0;
    this.answered = 0;
    this.next = 1;
    this.queue = [];
    this.open = new Map();
    this.byKey = new Map();
    this.sentAt = [];
    this.timer = 0;
    this.take = (message, buffers) => this.receive(message, buffers);
    model.on("msg:custom", this.take);
  }

  ask(question, scope = "") {
    const key = JSON.stringify(question);
    if (this.byKey.has(key)) return this.byKey.get(key).promise;
    const job = { key, question, scope, parts: [] };
    job.promise = new Promise((resolve, reject) => Object.assign(job, { resolve, reject }));
    job.promise.catch(() => {});
    this.byKey.set(key, job);
    if (this.state === "gone") this.fail(job, "the kernel is gone: re-run the cell to load more");
    else this.queue.push(job);
    this.pump();
    return job.promise;
  }

  // Forgets what was asked for a purpose that no longer holds, if it has not gone out yet.
  cancel(scope) {
    for (const job of this.queue.filter((each) => each.scope === scope)) this.fail(job, "cancelled");
    this.queue = this.queue.filter((each) => each.scope !== scope);
  }

  pump() {
    clearTimeout(this.timer);
    const now = performance.now();
    this.sentAt = this.sentAt.filter((at) => now - at < 1000);
    while (this.queue.length && this.open.size < 4 && this.sentAt.length < 45) this.send(this.queue.shift(), 0);
    const oldest = Math.min(...[...this.open.values()].map((job) => job.sentAt), Infinity);
    if (this.state !== "gone") this.turn(now - oldest > 1500 ? "busy" : "ready");
    if (this.queue.length || this.open.size) this.timer = setTimeout(() => this.pump(), 250);
  }

  send(job, part) {
    job.id = this.next;
    this.next += 1;
    job.sentAt = performance.now();
    this.sentAt.push(job.sentAt);
    this.open.set(job.id, job);
    this.asked += 1;
    try {
      this.model.send({ ...job.question, id: job.id, part });
    } catch {
      this.lost();
    }
  }

  receive(message, buffers) {
    const job = this.open.get(message?.id);
    if (!job) return;
    this.open.delete(message.id);
    this.answered += 1;
    if (message.error) {
      this.fail(job, message.error);
    } else {
      const view = buffers?.[0] ?? new ArrayBuffer(0);      // an answer without columns has no buffer
      job.parts.push(view instanceof ArrayBuffer ? new Uint8Array(view) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
      if (job.parts.length < message.parts) {
        this.send(job, job.parts.length);
      } else {
        const whole = new Uint8Array(job.parts.reduce((sum, part) => sum + part.length, 0));
        job.parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
        this.byKey.delete(job.key);
        job.resolve(unpack(message, whole.buffer));
      }
    }
    this.pump();
  }

  fail(job, reason) {
    this.byKey.delete(job.key);
    job.reject(new Error(reason));
  }

  turn(state) {
    if (state === this.state) return;
    this.state = state;
    this.changed();
  }

  lost() {
    this.turn("gone");
    for (const job of [...this.open.values(), ...this.queue]) this.fail(job, "the kernel is gone: re-run the cell to load more");
    this.open.clear();
    this.queue = [];
  }

  close() {
    clearTimeout(this.timer);
    this.model.off("msg:custom", this.take);
  }
}

// ---------------------------------------------------------------- The store: what is known of one trace

class Store {
  constructor(channel, meta, side, budget, changed) {
    Object.assign(this, { channel, meta, side, budget, changed });
    this.n = meta.n_passes;
    this.full = meta.level === "full";
    this.whole = meta.is_small;
    this.counters = null;
    this.regions = null;
    this.source = null;
    this.seen = null;
    this.triples = new Map();
    this.windows = [];        // loaded, by first pass
    this.cuts = null;         // first pass of every window there is
    this.chunks = new Map();  // number -> { p, words }, the image that moves with the playhead
    this.frozen = new Map();  // "number@pass" -> words, where a jump can start from
    this.states = [];         // statuses of cells at some passes, as the kernel sends them
    this.version = 0;         // how much has come in
    this.failed = new Map();
    this.wanted = new Set();
    this.tick = 0;
  }

  ask(question, scope) {
    return this.channel.ask({ ...question, t: this.side }, scope);
  }

  // Takes an answer, whoever asked for it.
  ingest(frame) {
    if (frame.kind === "counters") this.takeCounters(frame);
    else if (frame.kind === "regions") this.regions = frame;
    else if (frame.kind === "source") this.takeSource(frame);
    else if (frame.kind === "seen") this.takeSeen(frame);
    else if (frame.kind === "triples") this.triples.set(frame.what, frame);
    else if (frame.kind === "words") this.takeWords(frame);
    else if (frame.kind === "states") this.takeStates(frame);
    else if (frame.kind === "difference") this.difference = frame;
    else if (frame.kind === "digest") this.meta.digest = frame.digest;
    else if (frame.kind === "window") this.takeWindow(frame);
    this.version += 1;
    this.changed(frame.kind);
  }

  // Asks for what every view needs, and for everything if it is little.
  async load() {
    if (!this.n) return;
    const first = [{ kind: "counters" }, { kind: "regions" }];
    this.heavy = !!this.meta.n_events && !this.whole && CELL_BYTES * this.meta.n_cells > 1 << 30;
    if (this.meta.n_events && !this.heavy) first.push(this.seenQuestion());
    first.push({ kind: "source" });
    await Promise.all(first.map((each) => this.get(each)));
    if (this.meta.digest_later) this.get({ kind: "digest" });
    if (this.whole) {
      const rest = this.meta.measures.map((what) => ({ kind: "triples", what }));
      if (this.full) rest.push({ kind: "words", p: 0, c0: 0, c1: this.meta.n_cells });
      for (let k = 0; k < this.cuts.length; k += 1) rest.push(this.windowQuestion(k));
      await Promise.all(rest.map((each) => this.get(each)));
    }
  }

  // Asks for something unless that is under way, and takes the answer in.
  async get(question, scope) {
    const key = JSON.stringify(question);
    if (this.wanted.has(key)) return;                    // or it cannot be had
    this.wanted.add(key);
    let frame = null;
    try {
      frame = await this.ask(question, scope);
    } catch (error) {
      if (error.message !== "cancelled") {
        this.failed.set(question.kind, error.message);
        return this.changed("failed");
      }
    }
    this.wanted.delete(key);
    if (frame) this.ingest(frame);
  }

  takeCounters(frame) {
    this.counters = frame;
    const sum = (column) => {
      const out = new Float64Array(this.n + 1);
      for (let p = 0; column && p < this.n; p += 1) out[p + 1] = out[p] + column[p];
      return out;
    };
    this.eventStart = sum(frame.events);
    this.deltaStart = sum(frame.deltas);
    this.workStart = sum(frame.interactions);
    this.cuts = this.meta.windows ? this.meta.windows.map(([p0]) => p0) : [0];
    let size = 0;
    for (let p = 0; p < (this.meta.windows ? 0 : this.n); p += 1) {
      const bytes = 24 * frame.events[p] + (this.full ? 20 * frame.deltas[p] + 10 * frame.ops[p] : 0) + 16;
      if (size && size + bytes > WINDOW_BYTES) {
        this.cuts.push(p);
        size = 0;
      }
      size += bytes;
    }
  }

  takeSource(frame) {
    this.source = frame;
    this.constructors = new Map(Object.entries(frame.constructors).map(([code, name]) => [Number(code), name]));
  }

  takeSeen(frame) {
    this.seen = frame;
    this.done = new Map();
  }

  takeWords(frame) {
    const { p, c0, c1, cell, word } = frame;
    for (let k = Math.floor(c0 / CHUNK); k * CHUNK < c1; k += 1) {
      const words = new Uint32Array(2 * CHUNK);
      if (!cell) words.set(word.subarray(2 * (k * CHUNK - c0), 2 * (Math.min((k + 1) * CHUNK, c1) - c0)));   // every cell
      const stop = cell ? lowerBound(cell, (k + 1) * CHUNK) : 0;
      for (let i = cell ? lowerBound(cell, k * CHUNK) : 0; i < stop; i += 1) {
        const at = 2 * (cell[i] - k * CHUNK);
        words[at] = word[2 * i];
        words[at + 1] = word[2 * i + 1];
      }
      this.frozen.set(`${k}@${p}`, { k, p, words, used: (this.tick += 1) });
    }
    this.trim();
  }

  takeStates(frame) {
    frame.used = this.tick += 1;
    this.states.push(frame);
    this.trim();
  }

  takeWindow(frame) {
    frame.used = this.tick += 1;
    const at = lowerBound(this.windows.map((w) => w.p0), frame.p0);
    if (this.windows[at]?.p0 === frame.p0) this.windows[at] = frame;
    else this.windows.splice(at, 0, frame);
    if (frame.later) setTimeout(() => this.windows.includes(frame) && this.get({ kind: "window", p0: frame.p0, p1: frame.p1 }), 1500);
    this.trim();
  }

  // Keeps within the budget: forgets what was used longest ago.
  trim() {
    if (this.whole) return;
    const fixed = (this.seen?.bytes || 0) + 8 * CHUNK * this.chunks.size;
    const size = () => fixed + [...this.windows, ...this.states].reduce((sum, each) => sum + each.bytes, 0) + 8 * CHUNK * this.frozen.size;
    while (size() > this.budget && this.windows.length + this.states.length + this.frozen.size > 4) {
      const oldest = [...this.windows, ...this.states].reduce((a, b) => (a.used < b.used ? a : b), { used: Infinity });
      const image = [...this.frozen.entries()].reduce((a, b) => (a[1].used < b[1].used ? a : b), ["", { used: Infinity }]);
      if (image[1].used < oldest.used) this.frozen.delete(image[0]);
      else for (const name of ["windows", "states"]) this[name] = this[name].filter((each) => each !== oldest);
    }
  }

  seenQuestion() {
    return { kind: "seen", c0: 0, c1: this.meta.n_cells };
  }

  // Loads the cells of a trace that has very many of them after all.
  loadAnyway() {
    this.heavy = false;
    this.get(this.seenQuestion());
    this.changed("seen");
  }

  windowQuestion(k) {
    return { kind: "window", p0: this.cuts[k], p1: this.meta.windows?.[k][1] ?? this.cuts[k + 1] ?? this.n };
  }

  // The window that holds a pass, or null; asks for it unless told not to.
  window(p, { want = true } = {}) {
    if (p < 0 || p >= this.n) return null;
    let lo = 0, hi = this.windows.length;
    while (lo < hi) {
      const mid = (lo + hi) >>> 1;
      if (this.windows[mid].p1 <= p) lo = mid + 1;
      else hi = mid;
    }
    const found = this.windows[lo];
    if (found && found.p0 <= p) {
      found.used = this.tick += 1;
      return found;
    }
    if (want && this.cuts && !this.whole) {
      const k = lowerBound(this.cuts, p + 1) - 1;
      this.get(this.windowQuestion(k), "window");
    }
    return null;
  }

  // Loads ahead of a moving playhead.
  prefetch(p, direction) {
    if (this.whole || !this.cuts || this.meta.offline) return;
    const k = lowerBound(this.cuts, p + 1) - 1;
    for (const ahead of [k + direction, k + 2 * direction]) {
      if (ahead >= 0 && ahead < this.cuts.length) this.window(this.cuts[ahead]);
    }
  }

  isCached(p) {
    return p >= this.n || this.window(p, { want: false }) !== null;
  }

  // Events of a pass: the window and the range in it; null while it is not there.
  events(p) {
    const w = this.window(p);
    return w && w.loc ? { w, lo: w.event_offsets[p - w.p0], hi: w.event_offsets[p - w.p0 + 1] } : null;
  }

  deltas(p) {
    const w = this.full ? this.window(p) : null;
    return w ? { w, lo: w.delta_offsets[p - w.p0], hi: w.delta_offsets[p - w.p0 + 1] } : null;
  }

  operations(p) {
    const w = this.full ? this.window(p) : null;
    return w ? { w, lo: w.op_offsets[p - w.p0], hi: w.op_offsets[p - w.p0 + 1] } : null;
  }

  // Deferrals that are open at the start of pass p (opened before, not closed before), and those that open in it.
  waits(p) {
    const w = this.window(Math.min(p, this.n - 1));
    const found = [];
    for (let i = 0; w?.wait_loc && i < w.wait_loc.length; i += 1) {
      const closed = w.wait_closed[i];
      if (w.wait_opened[i] < p && (closed < 0 || closed >= p)) found.push(this.wait(w, i));
    }
    return found;
  }

  wait(w, i) {
    const closed = w.wait_closed[i], opened = w.wait_opened[i];
    return {
      opened, closed, age: closed < 0 ? null : closed - opened, thread: w.wait_thread[i], loc: w.wait_loc[i],
      slot: w.wait_slot[i], side: w.wait_side[i], reason: w.wait_reason[i], outcome: w.wait_outcome[i], busy: !!w.wait_busy[i],
    };
  }

  // All deferrals of the windows that are here, by opening pass; of a whole trace, all there are.
  deferrals() {
    if (this.deferralsOf === this.windows.length && this.deferralList) return this.deferralList;
    const list = [];
    for (const w of this.windows) {
      for (let i = 0; w.wait_loc && i < w.wait_loc.length; i += 1) {
        if (w.wait_opened[i] >= w.p0) list.push([w, i]);
      }
    }
    this.deferralList = list;
    this.deferralsOf = this.windows.length;
    return list;
  }

  ageOf(w, p, loc) {
    if (!w.ages) {
      w.ages = new Map();
      for (let i = 0; i < w.wait_loc.length; i += 1) w.ages.set(w.wait_opened[i] * 4294967296 + w.wait_loc[i], i);
    }
    const i = w.ages.get(p * 4294967296 + loc);
    return i === undefined ? null : this.wait(w, i);
  }

  // Cells in use of every region at the start of pass p.
  use(p) {
    const w = this.window(Math.min(p, this.n - 1));
    if (!w) return null;
    const state = new Uint32Array(this.meta.n_regions);
    w.base_region.forEach((region, i) => (state[region] = w.base_cells[i]));
    const stop = w.step_offsets[Math.min(p, w.p1) - w.p0];
    for (let i = 0; i < stop; i += 1) state[w.step_region[i]] = w.step_cells[i];
    return state;
  }

  // --- contents of cells (level full)

  // Brings a chunk to the start of pass p; false while that needs something from the kernel.
  reach(k, p, { want = true } = {}) {
    const here = this.chunks.get(k);
    if (here?.p === p) return true;
    const starts = [...this.frozen.values()].filter((each) => each.k === k);
    if (here) starts.push(here);
    let best = null, cost = Infinity;
    for (const each of starts) {
      const steps = Math.abs(this.deltaStart[p] - this.deltaStart[each.p]) + (each === here ? 0 : CHUNK / 8);
      if (steps < cost && this.allThere(each.p, p)) [best, cost] = [each, steps];
    }
    if (!best) {
      if (want && !this.whole) this.lack(k, p);
      return false;
    }
    const chunk = best === here ? here : { k, p: best.p, words: best.words.slice() };
    best.used = this.tick += 1;
    this.chunks.set(k, chunk);
    const c0 = k * CHUNK, c1 = c0 + CHUNK;
    while (chunk.p < p) {
      this.apply(chunk.words, chunk.p, c0, c1, "delta_after");
      chunk.p += 1;
    }
    while (chunk.p > p) {
      chunk.p -= 1;
      this.apply(chunk.words, chunk.p, c0, c1, "delta_before");
    }
    return true;
  }

  // Asks for chunks that are missing: all that one drawing misses in one question.
  lack(k, p) {
    if (this.missing?.p !== p) this.missing = { p, lo: k, hi: k };
    const { missing } = this;
    Object.assign(missing, { lo: Math.min(missing.lo, k), hi: Math.max(missing.hi, k) });
    missing.timer ??= setTimeout(() => {
      this.missing = null;
      this.channel.cancel(`words${this.side}`);
      this.get({ kind: "words", p, c0: missing.lo * CHUNK, c1: Math.min((missing.hi + 1) * CHUNK, this.meta.n_cells) }, `words${this.side}`);
    });
  }

  // Where the statuses of cells c0 to c1 are known, such that what is here leads on to pass p; the nearest one.
  stateNear(p, c0, c1) {
    let best = null, cost = Infinity;
    for (const each of this.states) {
      const far = this.workBetween(each.p, p);
      if (each.c0 <= c0 && each.c1 >= c1 && far < cost && this.allThere(each.p, p)) [best, cost] = [each, far];
    }
    if (best) best.used = this.tick += 1;
    return best;
  }

  // Events and changed cells between two passes.
  workBetween(a, b) {
    return Math.abs(this.eventStart[a] - this.eventStart[b]) + Math.abs(this.deltaStart[a] - this.deltaStart[b]);
  }

  lackStates(p, c0, c1) {
    this.channel.cancel(`states${this.side}`);
    this.get({ kind: "states", p, c0, c1 }, `states${this.side}`);
  }

  allThere(a, b) {
    for (let p = Math.min(a, b); p < Math.max(a, b);) {
      const w = this.window(p, { want: false });
      if (!w) return false;
      p = w.p1;
    }
    return true;
  }

  apply(words, p, c0, c1, column) {
    const { w, lo, hi } = this.deltas(p);
    const cells = w.delta_cell, values = w[column];
    for (let i = lowerBound(cells, c0, lo, hi); i < hi && cells[i] < c1; i += 1) {
      const at = 2 * (cells[i] - c0);
      words[at] = values[2 * i];
      words[at + 1] = values[2 * i + 1];
    }
  }

  // Word of a cell at the start of pass p as [low, high], or null if it is not known (yet).
  word(loc, p) {
    if (!this.full || loc >= this.meta.n_cells || loc < 0) return null;
    const k = Math.floor(loc / CHUNK);
    if (!this.reach(k, p)) return null;
    const { words } = this.chunks.get(k), at = 2 * (loc - k * CHUNK);
    return [words[at], words[at + 1]];
  }

  // A copy of a chunk at another pass, without moving the one that follows the playhead.
  copyAt(k, p) {
    const here = this.chunks.get(k);
    const kept = here && { ...here, words: here.words.slice() };
    if (!this.reach(k, p)) return null;
    const found = this.chunks.get(k).words.slice();
    if (kept) this.chunks.set(k, kept);
    return found;
  }

  // What a trace that outgrew its limit holds, and what would lift that.
  uncut() {
    const { events_until: until, dropped } = this.meta, kept = until ? `events of passes 0 to ${count(until - 1)} are kept` : "no events are kept";
    return `${kept}; ${plural(dropped, "later event")} not kept, counters complete: raise trace_limit, or record='counts'`;
  }

  // --- owners and places

  region(loc) {
    return Math.floor(loc / this.meta.region_size);
  }

  block(region) {
    const block = this.regions?.block[region];
    return block === undefined || block === NEVER ? null : block;
  }

  // The thread that owns a cell.
  owner(loc) {
    const block = this.block(this.region(loc));
    if (block === null) return null;
    const slice = this.meta.region_size / this.meta.threads_per_block;
    return block * this.meta.threads_per_block + Math.floor((loc % this.meta.region_size) / slice);
  }

  thread(t) {
    return t === null || t === undefined ? "—" : `B${Math.floor(t / this.meta.threads_per_block)}/t${t % this.meta.threads_per_block}`;
  }

  // First pass at whose start a cell shows, and first pass in which its task was done.
  times(loc) {
    if (!this.seen) return null;
    const i = lowerBound(this.seen.cell, loc);
    return this.seen.cell[i] === loc ? { seen: this.seen.seen[i], done: this.seen.done[i], role: this.seen.role[i] } : null;
  }

  // Playhead of this trace where another one has done as much work, or is at the same pass.
  aligned(other, p, by) {
    if (by === "pass" || !other.workStart || !this.workStart) return Math.min(p, this.n);
    return Math.min(lowerBound(this.workStart, other.workStart[p]), this.n);
  }
}

// ---------------------------------------------------------------- Terms

class Terms {
  constructor(store) {
    this.store = store;
    this.tags = store.meta.tags;
  }

  // tag, ext, val, sub of a word.
  read([lo, hi]) {
    return { tag: (hi >>> 24) & 0x7f, ext: hi & 0xffffff, val: lo >>> 0, sub: hi >>> 31 === 1, free: lo === 0 && hi === 0 };
  }

  name(code) {
    const digits = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$";
    let text = digits[code & 63];
    for (let rest = code >>> 6; rest; rest >>>= 6) text = digits[rest & 63] + text;
    return text;
  }

  tagName(tag) {
    return this.tags[tag] || `tag ${tag}`;
  }

  isConstructor(tag) {
    return tag >= 13 && tag <= 29;
  }

  arity(tag) {
    return this.isConstructor(tag) ? tag - 13 : this.store.meta.arity[tag] || 0;
  }

  constructor_(ext) {
    return `#${this.store.constructors?.get(ext) || this.name(ext)}`;
  }

  definition(id) {
    return `@${this.store.source?.definitions[id]?.[0] ?? id}`;
  }

  // What a cell is for if it holds no term: a word of the protocol, beside a slot or a binder (trace/roles.py).
  role(loc, word) {
    const role = this.store.times(loc)?.role || 0;
    return role === 2 || (role && !(word[1] & 0x7f000000)) ? role : 0;
  }

  // What the word of a cell says, in a few characters.
  short(word, loc = -1) {
    const { tag, ext, val, sub, free } = this.read(word), role = loc < 0 ? 0 : this.role(loc, word);
    if (free) return "—";
    if (role) return this.store.meta.roles[role];
    const name = this.tagName(tag);
    const text = this.isConstructor(tag) ? this.constructor_(ext)
      : name === "NUM" ? String(val)
      : name === "REF" ? this.definition(ext)
      : name === "SUP" ? `&${this.name(ext)}{}`
      : name === "DP0" || name === "DP1" ? `${name} ${this.name(ext)}`
      : name === "OP2" ? `(${this.store.meta.operators[ext] ?? "?"})`
      : name === "MAT" ? `λ{${this.constructor_(ext)}}`
      : name === "SWI" ? `λ{${ext}}`
      : name === "ALO" ? this.closure(ext)
      : name;
    return visible(sub ? `=${text}` : text);
  }

  closure(cell) {
    const source = this.store.source;
    return source?.definition && cell < source.definition.length ? `ALO ${this.definition(source.definition[cell])}` : "ALO";
  }

  // Cells that the word of a cell points to.
  targets(word, loc) {
    const { tag, val, free } = this.read(word);
    if (free || !val || this.role(loc, word)) return [];
    const name = this.tagName(tag), n = this.arity(tag);
    if (n) return Array.from({ length: n }, (_, i) => val + i);
    return ["VAR", "DP0", "DP1", "ALO"].includes(name) || name.startsWith("F_") ? [val] : [];
  }

  // Where in the source the word comes from: a closure's static cell, or a definition.
  span(word) {
    const source = this.store.source, { tag, ext, free } = this.read(word);
    if (free || !source) return null;
    const name = this.tagName(tag);
    if (name === "ALO" && source.start && ext < source.start.length) {
      return { file: source.file[ext], start: source.start[ext], end: source.end[ext], definition: source.definition[ext] };
    }
    const found = name === "REF" ? source.definitions[ext] : null;
    return found && found[1] >= 0 ? { file: found[1], start: found[2], end: found[3], definition: ext } : null;
  }

  // The term in a cell as text: pointers followed, bounded in depth and length.
  show(loc, p, room = 200) {
    const out = [];
    let left = room;
    const put = (text) => {
      out.push(text);
      left -= text.length;
    };
    const walk = (cell, depth) => {
      const word = this.store.word(cell, p);
      if (!word || left <= 0 || depth > 12) return put("…");
      const { tag, ext, val, sub, free } = this.read(word);
      if (free) return put("·");
      const name = this.tagName(tag), n = this.arity(tag);
      if (this.isConstructor(tag) || name === "SUP") {
        put(name === "SUP" ? `&${this.name(ext)}{` : n ? `${this.constructor_(ext)}{` : `${this.constructor_(ext)}{}`);
        for (let i = 0; i < n && left > 0; i += 1) {
          if (i) put(",");
          walk(val + i, depth + 1);
        }
        return n || name === "SUP" ? put("}") : undefined;
      }
      if (name === "VAR" || name === "DP0" || name === "DP1") {
        const inside = this.store.word(val, p);
        if (inside && this.read(inside).sub) return walk(val, depth + 1);
        return put(`${name === "VAR" ? "x" : name === "DP0" ? "d₀" : "d₁"}${val}`);
      }
      if (name === "APP") {
        put("(");
        walk(val, depth + 1);
        put(" ");
        walk(val + 1, depth + 1);
        return put(")");
      }
      if (name === "LAM") {
        put(`λx${val}.`);
        return walk(val, depth + 1);
      }
      if (name === "OP2") {
        put("(");
        walk(val, depth + 1);
        put(` ${this.store.meta.operators[ext] ?? "?"} `);
        walk(val + 1, depth + 1);
        return put(")");
      }
      put(this.short(word).replace(/^=/, ""));
      return sub;
    };
    walk(loc, 0);
    return visible(out.join("")).slice(0, room + 1);
  }
}

// ---------------------------------------------------------------- Statuses of cells

// Statuses of cells at the start of pass q from what a pass leaves in them; returns which have a role in the protocol and
// need a closer look. Bare arrays, and the same reads for every cell: a browser compiles this once, and not again when a
// cell takes a way that none took before.
function settle(k, end, q, cells, words, known, places, first, seenAt, doneAt, roleAt, status) {
  const apart = [], { none, freed, idle, reduced, sub } = STATUS;
  for (; k < end; k += 1) {
    const i = places ? places[cells[k] - first] : find(known, cells[k]);
    if (i < 0) continue;
    const low = words[2 * k] | 0, high = words[2 * k + 1] | 0;
    const full = doneAt[i] < q ? reduced : idle, empty = seenAt[i] > q ? none : freed;
    status[i] = high < 0 ? sub : high | low ? full : empty;
    if (roleAt[i]) apart.push(k);
  }
  return apart;
}

// One byte a cell for the pass at hand; a step to the next pass touches only what changes.
class Grid {
  constructor(store) {
    this.store = store;
    this.r0 = this.r1 = 0;
    this.n = 0;
    this.p = -1;
    this.over = [];
    this.under = [];
    this.dirty = null;        // cells whose status has changed since they were painted; null: any may have
    this.diff = null;
  }

  // Shows the cells of regions r0 to r1 that are ever in use.
  range(r0, r1) {
    const { seen, meta } = this.store;
    if (!seen || (this.r0 === r0 && this.r1 === r1 && this.from === seen)) return;
    Object.assign(this, { r0, r1, from: seen, p: -1, over: [], under: [], overOf: undefined, dirty: null, diff: null });
    const lo = lowerBound(seen.cell, r0 * meta.region_size), hi = lowerBound(seen.cell, r1 * meta.region_size);
    this.cells = seen.cell.subarray(lo, hi);
    this.seenAt = seen.seen.subarray(lo, hi);
    this.doneAt = seen.done.subarray(lo, hi);
    this.n = hi - lo;
    this.roleAt = seen.role.subarray(lo, hi);
    this.odd = Uint8Array.from(this.cells, (cell) => Math.floor(cell / meta.region_size) & 1);
    this.status = new Uint8Array(this.n);
    this.link = new Uint8Array(this.n).fill(1);          // of cells with role 1: whether they hold a link now
    this.links = [];
    for (let i = 0; i < this.n; i += 1) if (this.roleAt[i] === 1) this.links.push(i);
    const size = (this.size = Math.min((r1 - r0) * meta.region_size, meta.n_cells - r0 * meta.region_size));
    this.first = r0 * meta.region_size;
    this.at = size <= 1 << 22 ? new Int32Array(size).fill(-1) : null;
    for (let i = 0; this.at && i < this.n; i += 1) this.at[this.cells[i] - this.first] = i;
  }

  index(loc) {
    if (!this.n) return -1;
    return this.at ? this.at[loc - this.first] ?? -1 : find(this.cells, loc);
  }

  // Whether a cell holds a word of the protocol: always, or as long as what it holds looks like an application.
  isProtocol(i) {
    return this.roleAt[i] === 2 || (this.roleAt[i] === 1 && this.link[i] === 1);
  }

  // Status of the i-th cell at the start of pass p, of the word that it holds.
  held(i, p, low, high) {
    if (this.roleAt[i]) {
      this.link[i] = high & 0x7f000000 ? 0 : 1;
      if (this.isProtocol(i)) return this.seenAt[i] > p ? STATUS.none : STATUS.idle;
    }
    if (high >>> 31) return STATUS.sub;
    if (!high && !low) return this.seenAt[i] > p ? STATUS.none : STATUS.freed;
    return this.doneAt[i] < p ? STATUS.reduced : STATUS.idle;
  }

  // Brings every status to the start of pass p; false while something is missing, and what is drawn stays.
  to(p) {
    if (!this.n) return true;
    const { store } = this, w = p < store.n ? store.window(p) : store.window(store.n - 1), events = !!store.meta.n_events;
    if (this.p !== p || this.overOf !== w) {
      this.lift();
      if (!this.reach(p)) {
        if (this.p >= 0) this.overlay(this.p);
        this.complete = false;
        return false;
      }
      this.overlay(p);
      this.overOf = w;
      this.version = (this.version || 0) + 1;
    }
    this.complete = !events || p >= store.n || !!w;
    return this.complete;
  }

  // Goes to pass p from the nearest pass whose statuses are known: the one at hand, or one that came from the kernel.
  reach(p) {
    const { store, first } = this, last = first + this.size;
    if (this.p === p) return this.walk(p);               // what the window tells that has come in since
    const walks = this.p >= 0 && store.allThere(this.p, p) ? store.workBetween(this.p, p) : Infinity;
    if (!store.full && walks > this.n / 4) return this.timed(p);
    if (walks < 4 * CHUNK) return this.walk(p);
    const near = store.whole ? null : store.stateNear(p, first, last);
    if (near && store.workBetween(near.p, p) < walks) this.begin(near);
    else if (walks === Infinity && !(store.whole && this.contents())) {
      if (!store.whole) store.lackStates(p, first, last);
      return false;
    }
    return store.allThere(this.p, p) && this.walk(p);
  }

  // Statuses that follow from times alone, where contents are not recorded.
  timed(p) {
    const { seenAt, doneAt, status, n } = this;
    for (let i = 0; i < n; i += 1) status[i] = seenAt[i] > p ? STATUS.none : doneAt[i] < p ? STATUS.reduced : STATUS.idle;
    this.p = p;
    this.dirty = null;
    return true;
  }

  // Statuses as the kernel has sent them.
  begin({ p, c0, code }) {
    const at = lowerBound(this.from.cell, this.first) - lowerBound(this.from.cell, c0);
    this.status.set(code.subarray(at, at + this.n));
    for (const i of this.links) {
      this.link[i] = this.status[i] >> 3;
      this.status[i] &= 7;
    }
    this.p = p;
    this.dirty = null;
  }

  // Statuses of what cells hold where the recording begins; false while that is not there.
  contents() {
    const { store, cells, n } = this, start = store.meta.kept?.[0] ?? 0;
    for (let i = 0; i < n;) {
      const k = cells[i] >>> 16, chunk = store.frozen.get(`${k}@${start}`), stop = lowerBound(cells, (k + 1) * CHUNK, i, n);
      if (!chunk) return false;
      for (; i < stop; i += 1) {
        const at = 2 * (cells[i] - k * CHUNK);
        this.status[i] = this.held(i, start, chunk.words[at], chunk.words[at + 1]);
      }
    }
    this.p = start;
    this.dirty = null;
    return true;
  }

  // Goes over what the passes between changed, and looks at no other cell.
  walk(q) {
    const { store } = this, lo = Math.min(this.p, q), hi = Math.max(this.p, q), back = q < this.p;
    if (store.workBetween(lo, hi) > this.n / 16) this.dirty = null;
    for (let m = back ? hi - 1 : lo; store.full && m >= lo && m < hi; m += back ? -1 : 1) {
      const { w, lo: from, hi: stop } = store.deltas(m);
      this.rewrite(w.delta_cell, w[back ? "delta_before" : "delta_after"], from, stop, q);
    }
    for (let m = lo; m <= Math.min(hi, store.n - 1); m += 1) {
      const events = store.events(m);
      if (events) this.visit(events.w.loc, events.w.slot, events.lo, events.hi, q);
    }
    this.p = q;
    return true;
  }

  // Statuses of the cells that a pass changes, from their words.
  rewrite(cells, words, from, stop, q) {
    const { first, size, at: places, cells: known } = this, end = lowerBound(cells, first + size, from, stop);
    const apart = settle(lowerBound(cells, first, from, stop), end, q, cells, words, known, places, first, this.seenAt, this.doneAt, this.roleAt, this.status);
    for (const k of apart) {
      const i = this.index(cells[k]);
      this.status[i] = this.held(i, q, words[2 * k], words[2 * k + 1]);
    }
    for (let k = from; this.dirty && k < end; k += 1) this.dirty.push(this.index(cells[k]));
  }

  // Statuses of the cells that events name.
  visit(locs, slots, from, stop, q) {
    for (let k = from; k < stop; k += 1) {
      this.touch(this.index(locs[k]), q);
      if (slots[k]) this.touch(this.index(slots[k]), q);
    }
  }

  // Status of a cell whose word stays what it is; one that did not show until now holds nothing.
  touch(i, p) {
    if (i < 0) return;
    const was = this.status[i], done = this.doneAt[i] < p && !this.isProtocol(i);
    if (this.dirty) this.dirty.push(i);
    this.status[i] = this.seenAt[i] > p ? STATUS.none
      : was === STATUS.none && this.store.full ? (this.roleAt[i] ? STATUS.idle : STATUS.freed)
      : was > STATUS.reduced || was === STATUS.freed ? was : done ? STATUS.reduced : STATUS.idle;
  }

  // Takes away what overlay has put over the cells.
  lift() {
    for (let k = this.over.length - 1; k >= 0; k -= 1) {
      this.status[this.over[k]] = this.under[k];
      this.dirty?.push(this.over[k]);
    }
    if (this.dirty?.length > this.n / 8) this.dirty = null;
    this.over = [];
    this.under = [];
  }

  // Puts the frontier of pass p, and who waits, over what the cells hold.
  overlay(p) {
    const put = (loc, status) => {
      const i = this.index(loc);
      if (i < 0) return;
      this.over.push(i);
      this.under.push(this.status[i]);
      this.status[i] = status;
      this.dirty?.push(i);
    };
    const { outcomes } = this.store.meta, code = (name) => outcomes.indexOf(name);
    const [deferred, contended, error, aborted] = ["deferred", "contended", "error", "aborted"].map(code);
    for (const wait of this.store.waits(p)) put(wait.loc, STATUS.deferred);
    const events = this.store.events(p);
    for (let i = events?.lo ?? 0; i < (events?.hi ?? 0); i += 1) {
      const outcome = events.w.outcome[i];
      put(events.w.loc[i], outcome === deferred || outcome === contended ? STATUS.deferred
        : outcome === error || outcome === aborted ? STATUS.error : STATUS.frontier);
    }
  }

  // What differs between passes a and b: 1 added, 2 freed, 3 changed, 4 task moved to another owner.
  compare(a, b) {
    const key = `${a}-${b}-${this.r0}-${this.r1}`;
    if (this.diff?.key === key) return this.diff;
    const codes = new Uint8Array(this.n), lo = Math.min(a, b), hi = Math.max(a, b), { store } = this;
    if (store.full && !store.whole) {
      const found = store.difference, last = this.first + this.size;
      if (found?.a !== a || found.b !== b || found.c0 > this.first || found.c1 < last) {
        store.channel.cancel(`difference${store.side}`);
        store.get({ kind: "difference", a, b, c0: this.first, c1: last }, `difference${store.side}`);
        return (this.diff = null);
      }
      const at = lowerBound(this.from.cell, this.first) - lowerBound(this.from.cell, found.c0);
      codes.set(found.code.subarray(at, at + this.n));
    } else if (store.full) {
      for (let i = 0; i < this.n;) {
        const k = Math.floor(this.cells[i] / CHUNK), stop = lowerBound(this.cells, (k + 1) * CHUNK, i, this.n);
        const one = this.store.copyAt(k, a), two = one && this.store.copyAt(k, b);
        if (!two) return null;
        for (; i < stop; i += 1) {
          const at = 2 * (this.cells[i] - k * CHUNK);
          const was = one[at] | one[at + 1], is = two[at] | two[at + 1];
          if (one[at] !== two[at] || one[at + 1] !== two[at + 1]) codes[i] = !was ? 1 : !is ? 2 : 3;
        }
      }
    } else {
      for (let i = 0; i < this.n; i += 1) {
        if (this.seenAt[i] > lo && this.seenAt[i] <= hi) codes[i] = 1;
        else if (this.doneAt[i] >= lo && this.doneAt[i] < hi) codes[i] = 3;
      }
    }
    const threads = new Map(), one = this.store.events(a), two = this.store.events(b);
    for (let i = one?.lo ?? 0; i < (one?.hi ?? 0); i += 1) threads.set(one.w.loc[i], one.w.thread[i]);
    for (let i = two?.lo ?? 0; i < (two?.hi ?? 0); i += 1) {
      const before = threads.get(two.w.loc[i]), at = this.index(two.w.loc[i]);
      if (before !== undefined && before !== two.w.thread[i] && at >= 0) codes[at] = 4;
    }
    const totals = [0, 0, 0, 0, 0], byRegion = new Map();
    for (let i = 0; i < this.n; i += 1) {
      totals[codes[i]] += 1;
      const region = codes[i] ? this.store.region(this.cells[i]) : 0;
      if (codes[i]) byRegion.set(region, (byRegion.get(region) || 0) + 1);
    }
    this.diff = { key, codes, totals, byRegion };
    return this.diff;
  }
}

const KINDS = ["values", "superpositions", "functions", "variables", "closures", "operations", "", "frames, other"];
const DIFF_NAMES = ["same", "added", "freed", "changed", "moved owner"];
const DIFF_SIGNS = ["", "+", "×", "Δ", "⇄"];
const DIFF_COLORS = ["", "#0072B2", "#999999", "#E69F00", "#CC79A7"];

// ---------------------------------------------------------------- Maps of regions and passes

// Gathers counts into pixels, the largest of each, as maps.py does.
function gather(triples, { p0, p1, r0, r1 }, rowsMax, columnsMax, holds) {
  const perRegion = Math.max(Math.ceil((r1 - r0) / rowsMax), 1), perPass = Math.max(Math.ceil((p1 - p0) / columnsMax), 1);
  const rows = Math.ceil((r1 - r0) / perRegion), columns = Math.ceil((p1 - p0) / perPass);
  const values = new Uint32Array(rows * columns);
  const { pass, region, count: counts } = triples;
  const put = (row, column, value) => {
    const at = row * columns + column;
    if (values[at] < value) values[at] = value;
  };
  if (holds) {
    const state = new Uint32Array(r1 - r0);
    let i = 0;
    for (let p = 0; p < p1; p += 1) {
      for (; i < pass.length && pass[i] === p; i += 1) {
        if (region[i] >= r0 && region[i] < r1) state[region[i] - r0] = counts[i];
      }
      if (p >= p0) state.forEach((value, r) => put(Math.floor(r / perRegion), Math.floor((p - p0) / perPass), value));
    }
  } else {
    for (let i = lowerBound(pass, p0); i < pass.length && pass[i] < p1; i += 1) {
      if (region[i] >= r0 && region[i] < r1) put(Math.floor((region[i] - r0) / perRegion), Math.floor((pass[i] - p0) / perPass), counts[i]);
    }
  }
  return { values, rows, columns, per_region: perRegion, per_pass: perPass, p0, p1, r0, r1 };
}

function largest(column, p0, p1, perPass) {
  const out = new Float32Array(Math.ceil((p1 - p0) / perPass));
  for (let p = p0; p < p1; p += 1) {
    const at = Math.floor((p - p0) / perPass);
    if (column[p] > out[at]) out[at] = column[p];
  }
  return out;
}

// Colour of a count: its own for zero, a logarithmic scale where counts differ much; on dark ground the bright part alone.
function scale(values, dark) {
  let lo = Infinity, hi = 0;
  for (const value of values) {
    if (value > hi) hi = value;
    if (value && value < lo) lo = value;
  }
  const log = hi > STALL_AGE * lo;
  const from = dark ? 110 : 0, part = (value) => (hi <= lo ? dark ? 0.7 : 0.3 : log ? Math.log(value / lo) / Math.log(hi / lo) : (value - lo) / (hi - lo));
  return { lo: hi ? lo : 0, hi, log, at: (value) => Math.round(from + (255 - from) * part(value)) };
}

const MEASURE_NAMES = {
  deferrals: "deferrals by home region", frontier: "entries by home region", takes: "slots taken",
  writes: "cells written", occupancy: "cells in use",
};

class Overview {
  constructor(view, parent, side) {
    Object.assign(this, { view, side, store: side.store });
    this.box = el("section", "hv-overview", "", parent);
    voice(this.box, `Overview of regions and passes ${side.name}`);
    const bar = el("div", "hv-bar", "", this.box);
    el("span", "hv-title", side.name, bar);
    const known = this.store.meta.measures.map((what) => [what, this.label(what)]);
    this.pick = choice(bar, "Measure of the overview", known, (what) => this.show(what));
    this.what = this.pick.value = this.store.meta.first_measure;
    this.note = el("span", "hv-note", "", bar);
    this.legend = el("span", "hv-legend", "", bar);
    this.canvas = el("canvas", "hv-canvas hv-map", "", this.box);
    this.canvas.setAttribute("role", "img");
    this.tip = el("div", "hv-tip", "", this.box);
    this.tip.hidden = true;
    this.map = side.first;
    this.range = { p0: 0, p1: Math.max(this.store.n, 1), r0: 0, r1: Math.max(this.store.meta.n_regions, 1) };
    if (this.map) this.range = { ...this.range, r1: this.map.r1 };
    this.drag = null;
    const { canvas } = this;
    hear(canvas, "pointerdown", (event) => this.down(event));
    hear(canvas, "pointermove", (event) => this.move(event));
    hear(canvas, "pointerup", (event) => this.up(event));
    hear(canvas, "pointercancel", () => (this.drag = null, this.draw()));
    hear(canvas, "pointerleave", () => (this.tip.hidden = true));
    hear(canvas, "dblclick", () => this.fit());
    hear(canvas, "wheel", (event) => this.wheel(event), { passive: false });
  }

  label(what) {
    return what === "writes" && !this.store.full ? "remote writes" : MEASURE_NAMES[what];
  }

  show(what) {
    this.what = what;
    this.pick.value = what;
    this.refresh();
    this.view.update();
  }

  // Draws the range at hand: from what is here, or from a map that the kernel makes of it.
  refresh() {
    const rows = clamp(Math.floor(this.height / 2), 8, 256), columns = clamp(Math.floor(this.width), 16, 2048);
    const triples = this.store.triples.get(this.what);
    const key = JSON.stringify([this.what, this.range, rows, columns, !!triples]);
    if (!this.store.n || this.key === key || !this.width) return;
    this.key = key;
    if (triples && this.store.counters) {
      const map = gather(triples, this.range, rows, columns, this.what === "occupancy");
      const { frontier, interactions, longest } = this.store.counters;
      const ideal = interactions.map((work, p) => (longest[p] ? work / longest[p] : 0));
      const { p0, p1 } = this.range;
      this.map = { ...map, what: this.what, frontier: largest(frontier, p0, p1, map.per_pass), ideal: largest(ideal, p0, p1, map.per_pass) };
    } else if (this.store.meta.offline || (this.isFirst() && this.map)) {
      return;
    } else {
      this.store.channel.cancel(`map${this.side.index}`);
      const asked = { kind: "map", what: this.what, ...this.range, rows, columns };
      this.store.ask(asked, `map${this.side.index}`).then((frame) => {
        if (this.key === key) this.map = frame;
        this.image = null;
        this.draw();
      }, () => {});
      return;
    }
    this.image = null;
    this.draw();
  }

  isFirst() {
    const { first } = this.side;
    return first && first.what === this.what && ["p0", "p1", "r0", "r1"].every((name) => first[name] === this.range[name]);
  }

  fit() {
    this.zoomTo({ p0: 0, p1: Math.max(this.store.n, 1), r0: 0, r1: this.side.first?.r1 || Math.max(this.store.meta.n_regions, 1) });
  }

  zoomTo(range) {
    const n = Math.max(this.store.n, 1), regions = Math.max(this.store.meta.n_regions, 1);
    const p0 = clamp(Math.floor(range.p0), 0, n - 1), r0 = clamp(Math.floor(range.r0), 0, regions - 1);
    this.range = { p0, p1: clamp(Math.ceil(range.p1), p0 + 1, n), r0, r1: clamp(Math.ceil(range.r1), r0 + 1, regions) };
    this.refresh();
    this.view.rangeChanged(this);
  }

  // Zooms passes by a factor about one of them.
  zoom(factor, about = this.side.p) {
    const { p0, p1 } = this.range, left = about - p0;
    const wide = Math.max((p1 - p0) * factor, Math.min(4, this.store.n));
    const start = clamp(about - (left * wide) / (p1 - p0), 0, Math.max(this.store.n - wide, 0));
    this.zoomTo({ ...this.range, p0: start, p1: start + wide });
  }

  pan(part) {
    const { p0, p1 } = this.range, wide = p1 - p0;
    const start = clamp(p0 + Math.round(part * wide), 0, Math.max(this.store.n - wide, 0));
    this.zoomTo({ ...this.range, p0: start, p1: start + wide });
  }

  // --- drawing

  resize(width) {
    this.width = Math.max(width - this.left - 10, 40);
    this.height = this.view.small ? 44 : 64;
    fitCanvas(this.canvas, width, this.top + this.height + 16);
    this.image = null;
    this.refresh();
    this.draw();
  }

  get left() {
    return 46;
  }

  get top() {
    return 40;
  }

  draw() {
    const pen = penOf(this.canvas), { theme } = this.view, wide = this.canvas.width / ratio(), high = this.canvas.height / ratio();
    pen.font = theme.font(10);
    const { left, top, width, height, map, range } = this;
    if (!this.store.n) {
      pen.fillStyle = theme.muted;
      pen.fillText("0 passes: nothing was run", left, top + 14);
      return this.say("0 passes: nothing was run");
    }
    if (!map) {
      pen.fillStyle = theme.zero;
      pen.fillRect(left, top, width, height);
      pen.fillStyle = theme.muted;
      pen.fillText("loading…", left + 6, top + 14);
      return undefined;
    }
    const key = [theme.key, wide, high, JSON.stringify(range)].join();
    if (this.stillKey !== key || this.stillOf !== map) {
      Object.assign(this, { stillKey: key, stillOf: map });
      this.still ||= el("canvas");
      this.still.width = this.canvas.width;
      this.still.height = this.canvas.height;
      this.drawStill(penOf(this.still));
    }
    pen.drawImage(this.still, 0, 0, wide, high);
    this.marks(pen);
    return this.explain();
  }

  // What stays while the playhead moves: map, lines, axes.
  drawStill(pen) {
    const { left, top, width, height, range } = this, { theme } = this.view;
    pen.font = theme.font(10);
    pen.fillStyle = theme.zero;
    pen.fillRect(left, top, width, height);
    this.paint(pen);
    this.lines(pen);
    pen.strokeStyle = theme.line;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    pen.fillStyle = theme.muted;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(count(range.r0), left - 4, top + height - 5);
    if (range.r1 - range.r0 > 1) pen.fillText(count(range.r1 - 1), left - 4, top + 6);
    if (height >= 44) pen.fillText("region", left - 4, top + height / 2);
    pen.textBaseline = "top";
    pen.textAlign = "left";
    pen.fillText(`pass ${count(range.p0)}`, left, top + height + 4);
    pen.textAlign = "right";
    pen.fillText(count(range.p1 - 1), left + width, top + height + 4);
    pen.textAlign = "left";
  }

  x(p) {
    const { p0, p1 } = this.range;
    return this.left + ((p - p0) / (p1 - p0)) * this.width;
  }

  paint(pen) {
    const { map, theme = this.view.theme } = this, key = theme.key;
    if (!this.image || this.imageKey !== key) {
      this.scale = scale(map.values, theme.dark);
      const image = new ImageData(map.columns, map.rows), zero = rgb(theme.zero);
      for (let row = 0; row < map.rows; row += 1) {
        for (let column = 0; column < map.columns; column += 1) {
          const value = map.values[row * map.columns + column], at = 4 * ((map.rows - 1 - row) * map.columns + column);
          const step = value ? 3 * this.scale.at(value) : 0;
          for (let k = 0; k < 3; k += 1) image.data[at + k] = value ? RAMP[step + k] : zero[k];
          image.data[at + 3] = 255;
        }
      }
      this.image = el("canvas");
      this.image.width = map.columns;
      this.image.height = map.rows;
      this.image.getContext("2d").putImageData(image, 0, 0);
      this.imageKey = key;
      this.legendOf();
    }
    pen.imageSmoothingEnabled = false;
    const x0 = this.x(map.p0), x1 = this.x(map.p0 + map.columns * map.per_pass);
    const { r0, r1 } = this.range, part = this.height / (r1 - r0);
    const y1 = this.top + this.height - (map.r0 - r0) * part, y0 = y1 - map.rows * map.per_region * part;
    pen.save();
    pen.beginPath();
    pen.rect(this.left, this.top, this.width, this.height);
    pen.clip();
    pen.drawImage(this.image, x0, y0, x1 - x0, y1 - y0);
    pen.restore();
  }

  lines(pen) {
    const { map } = this, { theme } = this.view;
    let most = 1;
    for (const value of map.frontier) most = Math.max(most, value);
    const high = this.top - 8, y = (value) => this.top - 3 - (high * Math.min(value, most)) / most;
    const path = (values, close) => {
      pen.beginPath();
      values.forEach((value, i) => {
        const x0 = this.x(map.p0 + i * map.per_pass), x1 = this.x(map.p0 + (i + 1) * map.per_pass);
        if (!i) pen.moveTo(x0, close ? this.top - 3 : y(value));
        pen.lineTo(x0, y(value));
        pen.lineTo(x1, y(value));
      });
      if (close) pen.lineTo(this.x(map.p0 + values.length * map.per_pass), this.top - 3);
    };
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.width, this.top);
    pen.clip();
    path(map.frontier, true);
    pen.fillStyle = theme.frontierFill;
    pen.fill();
    path(map.frontier, false);
    pen.strokeStyle = theme.frontierLine;
    pen.lineWidth = 1.2;
    pen.stroke();
    path(map.ideal, false);
    pen.strokeStyle = theme.reducedLine;
    pen.setLineDash([4, 2]);
    pen.stroke();
    pen.restore();
    pen.fillStyle = theme.muted;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(count(most), this.left - 4, 9);
    pen.textAlign = "left";
  }

  // Playhead, pinned pass, hits, bookmarks, end of the recording, what is being dragged.
  marks(pen) {
    const { theme } = this.view, { p } = this.side, { range, top, height } = this;
    const bar = (at, color, wide, dash = []) => {
      if (at < range.p0 || at > range.p1) return;
      ink(pen, color, wide, dash);
      line(pen, this.x(at), 2, this.x(at), top + height);
      pen.setLineDash([]);
    };
    const { meta } = this.store;
    if (meta.dropped && meta.events_until < this.store.n) bar(meta.events_until, theme.errorText, 1.2, [4, 3]);
    if (meta.status !== "done" && range.p1 === this.store.n) bar(range.p1, theme.errorText, 5);
    for (const hit of this.view.search.ticks(this.side)) bar(hit, theme.hit, 1);
    if (!this.side.index) for (const mark of this.view.bookmarks) bar(mark.pass, theme.subText, 1.5, [1, 2]);
    if (this.view.pin !== null && !this.side.index) bar(this.view.pin, theme.subText, 1.5, [3, 3]);
    bar(Math.min(p + (p < this.store.n ? 0.5 : 0), range.p1), theme.halo, 4);
    bar(Math.min(p + (p < this.store.n ? 0.5 : 0), range.p1), theme.text, 1.6);
    const diff = this.view.pin !== null && !this.side.index ? this.view.heap.grid.diff : null;
    if (diff) {
      const most = Math.max(1, ...diff.byRegion.values()), part = height / (range.r1 - range.r0);
      pen.fillStyle = theme.subText;
      for (const [region, n] of diff.byRegion) {
        if (region < range.r0 || region >= range.r1) continue;
        const long = (8 * n) / most;
        pen.fillRect(this.left + this.width + 1, top + height - (region - range.r0 + 1) * part, Math.max(long, 1.5), Math.max(part, 1));
      }
    }
    if (this.drag?.moved) {
      const { x0, y0, x1, y1, tall } = this.drag;
      pen.fillStyle = theme.drag;
      pen.strokeStyle = theme.text;
      pen.lineWidth = 1;
      const box = [Math.min(x0, x1), tall ? Math.min(y0, y1) : top, Math.abs(x1 - x0), tall ? Math.abs(y1 - y0) : height];
      pen.fillRect(...box);
      pen.strokeRect(...box);
    }
  }

  explain() {
    const { map } = this, binned = map.per_region > 1 || map.per_pass > 1;
    const zoomed = this.range.p0 > 0 || this.range.p1 < this.store.n;
    const above = this.store.meta.n_regions - this.range.r1;
    const parts = [
      binned ? `each pixel = ${plural(map.per_region, "region")} × ${plural(map.per_pass, "pass", "passes")} (max)` : "",
      above > 0 && this.isFirstRange() ? `none in ${plural(above, "region")} above` : "",
      zoomed ? `passes ${count(this.range.p0)}–${count(this.range.p1 - 1)}` : "",
    ];
    const text = parts.filter(Boolean).join(" · ");
    retell(this.note, text);
    this.say(`${this.label(this.what)} by region and pass. ${text}`);
  }

  isFirstRange() {
    return this.range.r0 === 0 && this.range.r1 === this.side.first?.r1 && this.what === this.side.first?.what;
  }

  say(text) {
    if (this.canvas.getAttribute("aria-label") !== text) voice(this.canvas, text);
  }

  legendOf() {
    const { lo, hi, log } = this.scale;
    this.legend.replaceChildren();
    const zero = el("i", "hv-swatch hv-zero", "", this.legend);
    zero.title = "zero";
    el("span", "", "0", this.legend);
    if (!hi) return;
    el("span", "", count(lo), this.legend);
    if (hi > lo) {
      el("i", "hv-ramp", "", this.legend);
      el("span", "", `${count(hi)}${log ? " (log)" : ""}`, this.legend);
    } else {
      const one = el("i", "hv-swatch", "", this.legend), at = 3 * this.scale.at(hi);
      one.style.background = `rgb(${RAMP.slice(at, at + 3).join(",")})`;
    }
  }

  // --- pointer

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top, { p0, p1, r0, r1 } = this.range;
    const p = p0 + ((x - this.left) / this.width) * (p1 - p0), r = r0 + ((this.top + this.height - y) / this.height) * (r1 - r0);
    return { x, y, p: clamp(p, p0, p1), r: clamp(r, r0, r1) };
  }

  down(event) {
    if (event.button || !this.store.n) return;
    this.view.focus();
    const at = this.place(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x0: at.x, y0: at.y, x1: at.x, y1: at.y, from: at, moved: false };
  }

  move(event) {
    const at = this.place(event);
    if (this.drag) {
      Object.assign(this.drag, { x1: at.x, y1: at.y });
      this.drag.moved ||= Math.abs(at.x - this.drag.x0) > 4;
      this.drag.tall = Math.abs(at.y - this.drag.y0) > 14;
      return this.draw();
    }
    return this.hint(at);
  }

  hint(at) {
    const { map } = this;
    const inside = map && at.x >= this.left && at.x <= this.left + this.width && at.y >= this.top && at.y <= this.top + this.height;
    this.tip.hidden = !inside;
    if (!inside) return;
    const row = Math.floor((at.r - map.r0) / map.per_region), column = Math.floor((at.p - map.p0) / map.per_pass);
    const value = map.values[row * map.columns + column] ?? 0;
    const p = map.p0 + column * map.per_pass, r = map.r0 + row * map.per_region;
    const to = (from, size, end) => (size > 1 ? `${count(from)}–${count(Math.min(from + size, end) - 1)}` : count(from));
    this.tip.textContent = `pass ${to(p, map.per_pass, map.p1)}, region ${to(r, map.per_region, map.r1)}: ${count(value)}`;
    this.tip.style.left = `${clamp(at.x + 12, 0, this.width - 120)}px`;
    this.tip.style.top = `${at.y + 30}px`;
  }

  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const at = this.place(event);
    if (!drag.moved) {
      this.view.seek(Math.min(Math.floor(at.p), this.store.n), this.side);
    } else {
      const [p0, p1] = [drag.from.p, at.p].sort((a, b) => a - b), [r0, r1] = [drag.from.r, at.r].sort((a, b) => a - b);
      this.zoomTo(drag.tall ? { p0, p1, r0, r1 } : { ...this.range, p0, p1 });
    }
    this.draw();
  }

  wheel(event) {
    if (!this.view.hasFocus() && !event.ctrlKey) return;   // so that the notebook scrolls past
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.place(event).p);
  }
}

// ---------------------------------------------------------------- Lists that draw only the rows in sight

class List {
  constructor(parent, label, columns, { row, size, act, name = "" }) {
    Object.assign(this, { columns, row, size, act });
    this.high = 24;
    this.cursor = 0;
    this.box = el("div", `hv-list ${name}`, "", parent);
    this.box.setAttribute("role", "grid");
    voice(this.box, label);
    this.box.tabIndex = 0;
    this.head = el("div", "hv-row hv-row-head", "", this.box);
    this.head.setAttribute("role", "row");
    for (const [title, wide] of columns) {
      const cell = el("span", "", title, this.head);
      cell.setAttribute("role", "columnheader");
      cell.style.flex = wide;
    }
    this.body = el("div", "hv-rows", "", this.box);
    this.body.setAttribute("role", "rowgroup");
    this.pool = [];
    this.box.setAttribute("aria-colcount", String(columns.length));
    hear(this.box, "scroll", () => (this.measure(), this.draw()));
    hear(this.box, "keydown", (event) => this.key(event));
    hear(this.body, "click", (event) => {
      const line = event.target.closest(".hv-row");
      if (line) this.pickRow(Number(line.dataset.index));
    });
  }

  // Browsers cannot scroll further than some millions of pixels: longer lists scroll by parts of a row a pixel.
  get scale() {
    return Math.max((this.size() * this.high) / 8e6, 1);
  }

  // Size and place of what is in sight, read once after they change: reading makes a browser lay the page out.
  measure() {
    this.tall = this.box.clientHeight;
    this.top = this.box.scrollTop;
  }

  draw() {
    const n = this.size(), { scale, high } = this;
    if (!this.tall) this.measure();
    if (this.drawnSize !== n) {
      this.drawnSize = n;
      this.box.setAttribute("aria-rowcount", String(n + 1));
      this.box.dataset.rows = String(n);
      this.body.style.height = `${(n * high) / scale}px`;
      this.measure();                                   // a shorter list may have scrolled
    }
    const seen = Math.ceil((this.tall || 200) / high) + 2;
    const first = clamp(Math.floor((this.top * scale) / high), 0, Math.max(n - 1, 0));
    const rows = Math.min(seen, n - first);
    while (this.pool.length < rows) this.pool.push(this.line());
    let active = "";
    this.pool.forEach((line, k) => {
      const i = first + k, { node, told } = line;
      const tell = (name, value, put) => {
        if (told[name] === value) return;
        told[name] = value;
        put(value);
      };
      tell("hidden", k >= rows, (hidden) => (node.hidden = hidden));
      if (k >= rows) return;
      const { cells, mark = "", here = false } = this.row(i);
      tell("index", i, () => {
        node.dataset.index = String(i);
        node.setAttribute("aria-rowindex", String(i + 2));
      });
      tell("name", `hv-row ${mark} ${here ? "hv-here" : ""} ${i === this.cursor ? "hv-cursor" : ""}`, (name) => (node.className = name));
      tell("place", scale > 1 ? this.top + k * high : i * high, (y) => (node.style.transform = `translateY(${y}px)`));
      cells.forEach((text, c) => tell(c, text, () => (line.texts[c].data = text)));
      if (i === this.cursor) active = node.id;
    });
    if (this.active === active) return;
    this.active = active;
    if (active) this.box.setAttribute("aria-activedescendant", active);
    else this.box.removeAttribute("aria-activedescendant");
  }

  // One line of the list: its node, the texts of its cells, and what they were told last.
  line() {
    const node = el("div", "hv-row", "", this.body);
    node.setAttribute("role", "row");
    node.id = `hv-${Math.random().toString(36).slice(2)}`;
    const texts = this.columns.map(([, wide]) => {
      const cell = el("span", "", "", node);
      cell.setAttribute("role", "gridcell");
      cell.style.flex = wide;
      return cell.appendChild(document.createTextNode(""));
    });
    return { node, texts, told: {} };
  }

  reveal(i) {
    this.measure();
    const top = (i * this.high) / this.scale, high = this.tall - this.high;
    if (top < this.top || top + this.high > this.top + high) this.box.scrollTop = Math.max(top - high / 2, 0);
    this.measure();
  }

  pickRow(i) {
    if (i < 0 || i >= this.size()) return;
    this.cursor = i;
    this.act(i);
    this.draw();
  }

  key(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves && !event.shiftKey) {
      this.cursor = clamp(this.cursor + moves[event.key], 0, Math.max(this.size() - 1, 0));
      this.reveal(this.cursor);
      this.draw();
    } else if (event.key === "Enter") {
      this.pickRow(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// ---------------------------------------------------------------- The heap

// Gives each run of cells i to stop a pixel, from the one at `at` on: the colour of its highest code. Returns where it ends.
function paintRuns(data, at, codes, odd, lut, per, i, stop) {
  while (i < stop) {
    const end = Math.min(i + per, stop), side = odd[i];
    let best = 0;
    for (; i < end; i += 1) if (codes[i] > best) best = codes[i];
    data[at] = lut[2 * best + side];
    at += 1;
  }
  return at;
}

const HEAP_VIEWS = ["cells", "regions", "net", "table"];

class Heap {
  constructor(view, parent, side) {
    Object.assign(this, { view, side, store: side.store, terms: side.terms });
    this.kind = "cells";
    this.zoomed = 1;
    this.colorBy = "status";
    this.grid = new Grid(this.store);
    this.box = el("section", "hv-heap", "", parent);
    voice(this.box, `Heap${side.name ? ` of ${side.name}` : ""}`);
    const bar = el("div", "hv-bar", "", this.box);
    if (side.name) el("span", "hv-title", side.name, bar);
    this.tabs = el("div", "hv-tabs", "", bar);
    this.tabs.setAttribute("role", "tablist");
    voice(this.tabs, "Views of the heap");
    this.tabOf = HEAP_VIEWS.map((kind, i) => {
      const tab = button(this.tabs, kind, `${kind} (${i + 1})`, () => view.setHeap(kind), "hv-tab");
      tab.setAttribute("role", "tab");
      return tab;
    });
    this.color = choice(bar, "What colours show", [["status", "by status"], ["kind", "by kind"], ["owner", "by owner"]], (by) => {
      this.colorBy = by;
      view.update();
    });
    button(bar, "−", "Smaller (-)", () => this.zoom(0.5), "hv-small");
    button(bar, "+", "Larger (+)", () => this.zoom(2), "hv-small");
    button(bar, "fit", "Fit (0)", () => this.fit(), "hv-small");
    this.note = el("span", "hv-note", "", bar);
    this.scroll = el("div", "hv-scroll", "", this.box);
    this.scroll.tabIndex = 0;
    this.scroll.setAttribute("role", "group");
    voice(this.scroll, "Cells; Enter moves a cursor with the arrow keys, view 4 is a table");
    this.canvas = el("canvas", "hv-canvas", "", this.scroll);
    this.canvas.setAttribute("role", "img");
    this.spacer = el("div", "hv-spacer", "", this.scroll);
    hear(this.scroll, "scroll", () => (this.measure(), this.draw()));
    hear(this.canvas, "click", (event) => this.click(event));
    hear(this.canvas, "dblclick", (event) => this.expand(event));
    hear(this.canvas, "pointermove", (event) => this.hover(event));
    hear(this.canvas, "pointerleave", () => view.mark(null));
    hear(this.scroll, "wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 0.8 : 1.25);
    }, { passive: false });
    this.list = new List(this.box, "Cells of the heap", [
      ["cell", "0 0 62px"], ["region", "0 0 52px"], ["owner", "0 0 62px"], ["holds", "1 1 90px"], ["state", "0 0 84px"], ["points to", "1 1 70px"], ["since pass", "0 0 72px"],
    ], { size: () => this.rows().length, row: (i) => this.tableRow(i), act: (i) => view.select(this.rows()[i], side), name: "hv-table" });
    this.key_ = el("div", "hv-key", "", this.box);
    this.anim = null;
  }

  // Says what the colours at hand mean.
  keyOf() {
    const { theme } = this.view, cells = this.kind === "cells", { blocks } = this.store.meta;
    const what = this.kind === "regions" ? "regions" : this.grid.diff && !this.side.index && cells ? "diff" : cells ? this.colorBy : "status";
    const key = `${what}/${theme.key}`;
    if (this.keyed === key) return;
    this.keyed = key;
    this.key_.replaceChildren();
    const item = (text, color, cue = "", sign = "") => {
      const node = el("span", "", "", this.key_), mark = el("i", `hv-cue ${cue}`, sign, node);
      if (color) mark.style.background = color;
      el("span", "", text, node);
    };
    if (what === "status") {
      for (const status of [2, 5, 6, 3, 4, 1, 7]) if (status !== 1 || this.store.full) item(STATUS_NAMES[status], "", `hv-cue-${STATUS_NAMES[status].toLowerCase()}`);
    } else if (what === "diff") {
      for (let code = 1; code < 5; code += 1) item(`${DIFF_SIGNS[code]} ${DIFF_NAMES[code]}`, DIFF_COLORS[code]);
      item("the same", theme.quiet);
    } else if (what === "kind") {
      KINDS.forEach((name, k) => name && item(name, PINNED[k]));
    } else if (what === "owner") {
      for (let block = 0; block < Math.min(blocks, 8); block += 1) item(`B${block}${blocks > 8 ? `, B${block + 8} …` : ""}`, theme.ofBlock(block));
    } else {
      item("cells in use", theme.useFill);
      item("has entries", "", "hv-cue-frontier");
      item("no owner yet", theme.empty);
      item("→ tasks sent to the owner of a slot", theme.deferredLine);
    }
  }

  setKind(kind) {
    this.kind = kind;
    HEAP_VIEWS.forEach((each, i) => this.tabOf[i].setAttribute("aria-selected", String(each === kind)));
    this.list.box.hidden = kind !== "table";
    this.scroll.hidden = kind === "table";
    this.color.hidden = kind !== "cells";
    this.scroll.scrollTop = 0;
    this.graph = null;
    this.layoutKey = "";
    this.refresh();
    if (this.side.sel !== null) this.reveal(this.grid.index(this.side.sel));
  }

  zoom(factor) {
    const before = this.zoomed;
    this.zoomed = clamp(this.zoomed * factor, 1, Math.max(this.grid.n / 12, 1) * 4);
    if (before === this.zoomed) return;
    const middle = this.side.sel !== null ? this.grid.index(this.side.sel) : -1;
    this.layoutKey = "";
    this.arrange();
    if (middle >= 0) this.reveal(middle);
    this.draw();
  }

  fit() {
    this.zoomed = 1;
    this.layoutKey = "";
    this.scroll.scrollTop = 0;
    this.arrange();
    this.draw();
  }

  resize(width, height) {
    Object.assign(this, { width, height });
    this.canvas.style.width = `${width}px`;
    fitCanvas(this.canvas, width, height);
    this.layoutKey = "";
    this.refresh();
  }

  // Brings everything to the playhead, and draws.
  refresh() {
    const { r0, r1 } = this.view.regionRange(this.side);
    const begun = performance.now(), from = this.grid.p;
    this.grid.range(r0, r1);
    this.grid.to(this.side.p);
    if (from !== this.grid.p) this.stepMs = performance.now() - begun;
    if (this.view.pin !== null && !this.side.index) this.grid.compare(this.view.pin, this.side.p);
    else this.grid.diff = null;
    this.arrange();
    this.draw();
  }

  // --- places of cells

  arrange() {
    const { grid, width, height } = this, key = [grid.r0, grid.r1, grid.n, width, height, this.zoomed, this.kind].join();
    if (this.layoutKey === key || !width) return;
    this.layoutKey = key;
    this.blocks = [];
    this.net = null;
    this.flat = false;
    this.high = height;
    if (this.kind === "cells" && grid.n) {
      const sight = grid.n / this.zoomed, area = (width * height) / sight;
      this.mode = sight <= BOXES_MAX ? "boxes" : sight <= TILES_MAX ? "tiles" : "raster";
      if (this.mode === "boxes") {
        this.w = clamp(Math.round(Math.sqrt(area * 2)), 62, 128);
        this.h = clamp(Math.round(this.w * 0.46), 34, 54);
      } else {
        this.w = this.h = Math.sqrt(area) * (this.mode === "tiles" ? 0.94 : 1);
        if (this.w >= 1) this.w = this.h = Math.floor(this.w * 4) / 4;
      }
      const most = Math.min(grid.n, Math.floor(width / this.w) * (Math.ceil(height / this.h) + 1));
      // too small for cues, or too many to draw one by one: painted pixel by pixel
      this.flat = this.mode !== "boxes" && (this.w < 6 || most > TILES_MAX);
      if (this.flat) this.arrangeRaster();
      else this.arrangeBlocks();
    }
    if (this.kind === "regions") this.arrangeRegions();
    this.measure();
  }

  // Makes room for all that is drawn, and reads where it is scrolled to: reading makes a browser lay the page out.
  measure() {
    this.spacer.style.height = `${Math.max(this.high - this.height, 0)}px`;
    this.scrolled = this.scroll.scrollTop;
  }

  // Regions one after another like words of a text, each with its cells in rows.
  arrangeBlocks() {
    const { grid, width, w, h } = this, boxes = this.mode === "boxes", size = this.store.meta.region_size;
    const gap = boxes ? 16 : Math.max(Math.min(w, 6), 2), label = boxes ? 17 : w >= 6 || grid.r1 - grid.r0 < 60 ? 12 : 0;
    const most = Math.max(Math.floor((width - 12) / w), 1);
    let x = 6, y = 4, tall = 0;
    for (let i = 0; i < grid.n;) {
      const region = Math.floor(grid.cells[i] / size), stop = lowerBound(grid.cells, (region + 1) * size, i, grid.n);
      const columns = Math.min(stop - i, most), rows = Math.ceil((stop - i) / most), wide = Math.max(columns * w, label ? 46 : 0);
      if (x > 6 && (x + wide > width - 6 || rows > 1)) [x, y, tall] = [6, y + tall + (boxes ? 16 : 3), 0];
      this.blocks.push({ region, i0: i, i1: stop, x, y, columns, wide, high: label + rows * h });
      x += wide + gap;
      tall = Math.max(tall, label + rows * h);
      if (rows > 1) [x, y, tall] = [6, y + tall + (boxes ? 16 : 3), 0];
      i = stop;
    }
    this.label = label;
    this.high = y + tall + 8;
  }

  arrangeRaster() {
    const { grid, w } = this, wide = this.width - 42;
    this.unit = Math.max(Math.floor(w), 1);             // pixels of one cell of the raster; as high as there is room for
    this.rise = clamp(Math.floor((w * w) / this.unit), this.unit, 3 * this.unit);
    this.per = w < 1 ? Math.max(Math.ceil(1 / (w * w)), 1) : 1;         // cells, one behind the other, of a square
    this.columns = Math.floor(wide / this.unit) * this.per;
    this.lines = Math.ceil(grid.n / this.columns);
    this.high = this.lines * this.rise + 8;
  }

  arrangeRegions() {
    const { store, grid, width } = this, n = grid.r1 - grid.r0 || store.meta.n_regions;
    const area = (width * Math.max(this.height - 10, 60) * 0.94) / Math.max(n / this.zoomed, 1);
    const sized = (w) => [w, clamp(Math.floor(w / 1.7), 3, 94), Math.max(Math.floor((width - 12) / w), 1)];
    let [w, h, columns] = sized(clamp(Math.floor(Math.sqrt(area * 1.7)), 3, 160));
    while (columns * (Math.ceil(this.height / h) + 1) > TILES_MAX) [w, h, columns] = sized(w + 1);  // the rest is scrolled to
    Object.assign(this, { mode: w >= 60 ? "boxes" : "tiles", w, h, columns });
    this.high = 8 + Math.ceil(n / columns) * h;
  }

  // Place of the i-th cell: x, y of its corner in the whole drawing.
  at(i) {
    if (this.flat) {
      const row = Math.floor(i / this.columns), column = i % this.columns;
      return { x: 42 + Math.floor(column / this.per) * this.unit, y: 4 + row * this.rise, w: this.unit, h: this.rise };
    }
    const { blocks } = this;
    let lo = 0, hi = blocks.length - 1;
    while (lo < hi) {
      const mid = (lo + hi) >>> 1;
      if (blocks[mid].i1 <= i) lo = mid + 1;
      else hi = mid;
    }
    const block = blocks[lo], k = i - block.i0;
    return { x: block.x + (k % block.columns) * this.w, y: block.y + this.label + Math.floor(k / block.columns) * this.h, w: this.w, h: this.h };
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top + this.scroll.scrollTop;
    if (this.kind === "net") {
      const node = this.net?.find((each) => Math.abs(each.x - x) < each.w / 2 && Math.abs(each.y - y) < 13);
      return node ? { loc: node.loc, node } : null;
    }
    if (this.kind === "regions") {
      const column = Math.floor((x - 6) / this.w), region = this.grid.r0 + Math.floor((y - 4) / this.h) * this.columns + column;
      return column >= 0 && column < this.columns && region >= 0 && region < this.store.meta.n_regions ? { region } : null;
    }
    let i = -1;
    if (this.flat) {
      const column = Math.floor((x - 42) / this.unit) * this.per, row = Math.floor((y - 4) / this.rise);
      if (column >= 0 && column < this.columns) i = row * this.columns + column;
    } else {
      const block = this.blocks?.find((b) => x >= b.x && x < b.x + b.columns * this.w && y >= b.y + this.label && y < b.y + b.high);
      if (block) {
        const k = Math.floor((y - block.y - this.label) / this.h) * block.columns + Math.floor((x - block.x) / this.w);
        i = block.i0 + k < block.i1 ? block.i0 + k : -1;
      }
    }
    return i >= 0 && i < this.grid.n ? { loc: this.grid.cells[i], i } : null;
  }

  click(event) {
    this.view.focus();
    const hit = this.hit(event);
    if (!hit) return;
    if (hit.region !== undefined) this.view.selectRegion(hit.region, this.side);
    else this.view.select(hit.loc, this.side);
  }

  // A double click on a stub of the net goes on from there; elsewhere it opens the net of a cell.
  expand(event) {
    const hit = this.hit(event);
    if (hit?.loc === undefined) return;
    this.view.select(hit.loc, this.side);
    this.view.setHeap("net");
  }

  hover(event) {
    const hit = this.hit(event);
    this.canvas.title = hit?.loc !== undefined ? this.tell(hit.loc) : hit ? `region ${hit.region}` : "";
    this.view.mark(hit?.loc !== undefined ? this.view.spanOf(hit.loc, this.side) : null);
  }

  tell(loc) {
    const word = this.store.word(loc, this.side.p), i = this.grid.index(loc);
    const state = i >= 0 ? STATUS_NAMES[this.grid.status[i]] : "not in use";
    return `cell ${loc}, region ${this.store.region(loc)}: ${word ? `${this.terms.short(word, loc)}, ` : ""}${state}`;
  }

  // Moves the cell cursor by rows and columns of the grid.
  move(dx, dy) {
    if (!this.grid.n) return;
    const now = this.side.sel === null ? -1 : this.grid.index(this.side.sel);
    const columns = this.flat ? this.columns : this.blocks.find((b) => now < b.i1)?.columns || 1;
    this.view.select(this.grid.cells[clamp(now < 0 ? 0 : now + dx + dy * columns, 0, this.grid.n - 1)], this.side);
  }

  reveal(i) {
    if (this.kind !== "cells" || i < 0 || !this.blocks) return;
    const { y, h } = this.at(i);
    if (y >= this.scrolled + 14 && y + h <= this.scrolled + this.height) return;
    this.scroll.scrollTop = Math.max(y - this.height / 2, 0);
    this.measure();
  }

  // --- drawing

  draw() {
    if (!this.width) return;
    if (this.kind === "table") {
      this.tableRows = null;
      this.list.draw();
      return this.explain();
    }
    const pen = penOf(this.canvas);
    pen.textBaseline = "middle";
    if (this.kind === "net") {
      this.drawNet(pen);
    } else if (!this.grid.n && this.kind === "cells") {
      pen.fillStyle = this.view.theme.muted;
      pen.font = this.view.theme.font(12);
      pen.fillText(this.empty(), 10, 20);
    } else {
      pen.save();
      pen.translate(0, -this.scrolled);
      if (this.kind === "regions") this.drawRegions(pen);
      else if (this.flat) this.drawRaster(pen);
      else this.drawBlocks(pen);
      if (this.kind === "cells") this.drawMoves(pen);
      pen.restore();
    }
    return this.explain();
  }

  empty() {
    const { meta } = this.store;
    if (!this.store.n) return "0 passes: nothing was run";
    if (!meta.n_events) return meta.dropped ? this.store.uncut() : `this trace was recorded at level ${meta.level}: it holds counts, no cells; record='events' or 'full' shows them`;
    return this.store.seen ? "no cell of these regions is ever in use" : this.store.heavy ? "the cells are not loaded: the line above the panes loads them" : "loading…";
  }

  explain() {
    const { grid, store } = this, parts = [];
    this.keyOf();
    if (this.kind === "cells" || this.kind === "table") {
      if (grid.n) parts.push(plural(grid.n, "cell"));
      if (this.flat && this.kind === "cells" && this.per > 1) parts.push(`a pixel = ${this.per} cells`);
      if (!store.full && store.n) parts.push("record='full' shows cell contents");
      else if (store.full && !grid.complete && !store.heavy) parts.push(grid.p >= 0 && grid.p !== this.side.p ? `still pass ${count(grid.p)}: contents on their way` : "contents on their way");
    } else if (this.kind === "regions") {
      parts.push(plural(store.meta.n_regions, "region"), `of ${plural(store.meta.region_size, "cell")}`);
    } else if (this.netNote) {
      parts.push(this.netNote);
    }
    if (grid.diff && !this.side.index) {
      const { totals } = grid.diff, found = DIFF_NAMES.map((name, k) => (k && totals[k] ? `${count(totals[k])} ${name}` : "")).filter(Boolean);
      parts.unshift(`pass ${this.view.pin} → ${this.side.p}: ${found.join(", ") || "nothing differs"}`);
    } else if (this.view.pin !== null && !this.side.index) {
      parts.unshift("what differs is on its way");
    }
    const text = parts.join(" · ");
    retell(this.note, text);
    const say = `${this.kind} of the heap at pass ${this.side.p}. ${text}`;
    if (this.canvas.getAttribute("aria-label") !== say) voice(this.canvas, say);
  }

  visibleBlocks() {
    const top = this.scrolled, bottom = top + this.height;
    return this.blocks.filter((b) => b.y + b.high >= top && b.y <= bottom);
  }

  fillOf(i) {
    const { grid, store } = this, { theme } = this.view, status = grid.status[i];
    if (!status) return "";
    if (grid.diff && !this.side.index) return grid.diff.codes[i] ? DIFF_COLORS[grid.diff.codes[i]] : theme.quiet;
    if (this.colorBy === "owner") {
      const block = store.block(store.region(grid.cells[i]));
      return block === null ? theme.quiet : theme.ofBlock(block);
    }
    if (this.colorBy === "kind") {
      const word = store.word(grid.cells[i], this.side.p);
      return word && (word[0] || word[1]) ? grid.isProtocol(i) ? PINNED[7] : theme.ofTag(this.terms.read(word).tag) : theme.quiet;
    }
    return theme.status[status];
  }

  drawBlocks(pen) {
    const { grid, store, w, h } = this, { theme } = this.view, boxes = this.mode === "boxes";
    const marked = this.view.markedCells(this.side);
    const shown = this.visibleBlocks();
    for (const block of shown) {
      if (block.region % 2) {
        pen.fillStyle = theme.band;
        pen.fillRect(block.x - 3, block.y, block.wide + 6, block.high + 2);
      }
      const pinned = this.view.pins.indexOf(block.region);
      if (pinned >= 0) {
        pen.fillStyle = PINNED[pinned % PINNED.length];
        pen.fillRect(block.x - 5, block.y, 3, block.high + 2);
      }
      for (let i = block.i0; i < block.i1; i += 1) {
        const k = i - block.i0, x = block.x + (k % block.columns) * w, y = block.y + this.label + Math.floor(k / block.columns) * h;
        if (y + h < this.scrolled || y > this.scrolled + this.height) continue;
        if (boxes) this.drawBox(pen, i, x, y, marked.has(i));
        else this.drawTile(pen, i, x, y, marked.has(i));
      }
    }
    if (boxes) this.drawPointers(pen, shown);
    for (const block of this.label ? shown : []) {       // over the lines, which else would go through them
      const owner = store.block(block.region), name = boxes ? `region ${block.region} · ${owner === null ? "no owner" : `B${owner}`}` : `R${block.region}`;
      pen.font = theme.font(boxes ? 11 : 9);
      pen.fillStyle = block.region % 2 ? theme.band : theme.background;
      pen.fillRect(block.x - 2, block.y + 2, Math.min(pen.measureText(name).width, block.wide) + 4, this.label - 6);
      pen.fillStyle = theme.muted;
      pen.fillText(name, block.x, block.y + this.label / 2, block.wide);
    }
    this.drawDeferrals(pen);
  }

  drawBox(pen, i, x, y, marked) {
    const { grid, store, w, h } = this, { theme } = this.view, status = grid.status[i], loc = grid.cells[i];
    const [bx, by, bw, bh] = [x + 2.5, y + 2.5, w - 7, h - 7];
    const differing = grid.diff && !this.side.index, diff = differing ? grid.diff.codes[i] : 0;
    pen.lineWidth = 1;
    if (!status && !diff) {
      pen.strokeStyle = theme.line;
      pen.setLineDash([2, 3]);
      pen.strokeRect(bx, by, bw, bh);
      pen.setLineDash([]);
      pen.font = theme.font(9);
      pen.fillStyle = theme.muted;
      pen.fillText(String(loc), bx + 4, by + 8);
      return;
    }
    pen.fillStyle = marked ? theme.markFill : differing ? theme.mix(diff ? DIFF_COLORS[diff] : theme.quiet, 0.3) : theme.box[status];
    pen.fillRect(bx, by, bw, bh);
    if (differing) {
      ink(pen, diff ? DIFF_COLORS[diff] : theme.line, diff ? 2 : 1);
      pen.strokeRect(bx, by, bw, bh);
    } else {
      theme.cue(pen, status, bx, by, bw, bh);
    }
    if (this.colorBy !== "status" && !differing) {
      pen.fillStyle = this.fillOf(i);
      pen.fillRect(bx + 1, by + bh - 4, bw - 2, 3);
    }
    if (loc === this.side.sel) {
      pen.lineWidth = 2.5;
      pen.strokeStyle = theme.text;
      pen.strokeRect(bx - 1, by - 1, bw + 2, bh + 2);
    }
    pen.font = theme.font(9);
    pen.fillStyle = theme.muted;
    pen.fillText(String(loc), bx + 4, by + 8);
    if (diff) {
      pen.font = theme.font(12, true);
      pen.fillStyle = theme.text;
      pen.textAlign = "right";
      pen.fillText(DIFF_SIGNS[diff], bx + bw - 4, by + 9);
      pen.textAlign = "left";
    }
    const word = store.word(loc, this.side.p);
    pen.font = theme.font(12, true);
    pen.fillStyle = theme.text;
    const text = word ? this.terms.short(word, loc) : status >= STATUS.frontier || status === STATUS.reduced ? STATUS_NAMES[status] : "";
    if (word || status) pen.fillText(word ? text : text || "·", bx + 4, by + bh - (h > 40 ? 12 : 9), bw - 8);
  }

  drawTile(pen, i, x, y, marked) {
    const { grid, w, h } = this, { theme } = this.view, status = grid.status[i], gap = w >= 6 ? 1 : 0;
    if (!status) {
      if (w >= 5) {
        pen.fillStyle = theme.empty;
        pen.fillRect(x, y, w - gap, h - gap);
      }
      return;
    }
    pen.fillStyle = marked ? theme.mark : this.fillOf(i);
    pen.fillRect(x, y, w - gap, h - gap);
    if (w >= 7 && this.colorBy === "status" && !grid.diff) theme.tileCue(pen, status, x, y, w - gap, h - gap);
    if (grid.cells[i] === this.side.sel) {
      pen.strokeStyle = theme.text;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, w + 1, h + 1);
    }
  }

  // Lines from nodes to their fields, and from variables to what they are bound to.
  drawPointers(pen, shown) {
    if (!this.store.full) return;
    const { grid } = this, { theme } = this.view, few = shown.reduce((sum, b) => sum + b.i1 - b.i0, 0) <= 140;
    for (const block of shown) {
      for (let i = block.i0; i < block.i1; i += 1) {
        const chosen = grid.cells[i] === this.side.sel;
        if (!grid.status[i] || (!few && !chosen)) continue;
        const word = this.store.word(grid.cells[i], this.side.p);
        if (!word) continue;
        const from = this.at(i), { tag } = this.terms.read(word), bound = !this.terms.arity(tag);
        for (const target of this.terms.targets(word, grid.cells[i]).slice(0, 4)) {
          const j = grid.index(target);
          if (j < 0 || j === i) continue;
          const to = this.at(j), up = to.y <= from.y, level = to.y === from.y;
          const x0 = from.x + from.w / 2 - 2, y0 = up ? from.y + 2 : from.y + from.h - 5;
          const x1 = to.x + to.w / 2 + (up ? 8 : -2), y1 = up && !level ? to.y + to.h - 4 : to.y + 2;
          ink(pen, chosen ? theme.text : bound ? theme.subText : theme.pointer, chosen ? 1.8 : 1, bound ? [4, 3] : []);
          pen.beginPath();
          pen.moveTo(x0, y0);
          const bend = level ? clamp(Math.abs(x1 - x0) / 12, 10, 15) : Math.max(Math.abs(y1 - y0) / 2, 10), side = up ? -1 : 1;
          pen.bezierCurveTo(x0, y0 + side * bend, x1, y1 - (level ? bend : side * bend), x1, y1);
          pen.stroke();
          pen.setLineDash([]);
          this.arrow(pen, x1, y1, up && !level ? -Math.PI / 2 : Math.PI / 2, pen.strokeStyle);
        }
      }
    }
  }

  arrow(pen, x, y, angle, color, size = 5) {
    pen.save();
    pen.translate(x, y);
    pen.rotate(angle);
    pen.fillStyle = color;
    pen.beginPath();
    pen.moveTo(0, 0);
    pen.lineTo(-size, -size / 2);
    pen.lineTo(-size, size / 2);
    pen.closePath();
    pen.fill();
    pen.restore();
  }

  // Arrows of the tasks that this pass defers: from the task's cell to the slot it needs.
  drawDeferrals(pen) {
    const boxes = this.mode === "boxes", moves = this.deferred().slice(0, boxes ? 200 : 40), { theme } = this.view;
    for (const { loc, slot } of moves) {
      const i = this.grid.index(loc), j = this.grid.index(slot);
      if (i < 0 || j < 0) continue;
      const a = this.at(i), b = this.at(j), x0 = a.x + a.w / 2 - 2, y0 = a.y + a.h / 2, x1 = b.x + b.w / 2 - 2, y1 = b.y + b.h / 2;
      const part = boxes ? 0.78 : 1, xe = x0 + (x1 - x0) * part, ye = y0 + (y1 - y0) * part;
      ink(pen, theme.deferredLine, boxes ? 2 : 1.2, boxes ? [6, 3] : []);
      line(pen, x0, y0, xe, ye);
      pen.setLineDash([]);
      this.arrow(pen, xe, ye, Math.atan2(y1 - y0, x1 - x0), theme.deferredLine, boxes ? 8 : 6);
    }
  }

  deferred(p = this.side.p) {
    const events = this.store.events(p), deferred = this.store.meta.outcomes.indexOf("deferred"), found = [];
    for (let i = events?.lo ?? 0; i < (events?.hi ?? 0); i += 1) {
      if (events.w.outcome[i] === deferred) found.push({ loc: events.w.loc[i], slot: events.w.slot[i] });
    }
    return found;
  }

  drawRaster(pen) {
    const { grid, unit, rise, per, columns } = this, { theme } = this.view, top = this.scrolled;
    const line0 = Math.max(Math.floor((top - 4) / rise), 0), wide = columns / per;
    const line1 = Math.min(Math.ceil((top + this.height) / rise), this.lines), tall = line1 - line0;
    if (tall <= 0) return;
    const words = this.colorBy === "kind" ? `${this.side.p}/${this.store.version}` : "";
    const key = [line0, wide, tall, per, theme.key, this.colorBy, grid.diff?.key, grid.r0, grid.r1, words].join();
    if (this.rasterKey !== key || this.rasterOf !== grid.version) {
      const few = this.rasterKey === key && this.colorBy === "status" && !grid.diff ? grid.dirty : null;
      Object.assign(this, { rasterKey: key, rasterOf: grid.version });
      this.fillRaster(line0, wide, tall, few);
      grid.dirty = [];
    }
    const size = this.store.meta.region_size;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.image, 42, 4 + line0 * rise, wide * unit, tall * rise);
    pen.font = theme.font(9);
    pen.fillStyle = theme.muted;
    pen.textAlign = "right";
    for (let line = line0, last = -100; line < line1; line += 1) {
      const y = 4 + line * rise;
      if (y - last < 22) continue;
      last = y;
      pen.fillText(`R${Math.floor(grid.cells[Math.min(line * columns, grid.n - 1)] / size)}`, 38, y + 5);
    }
    pen.textAlign = "left";
    const chosen = this.side.sel === null ? -1 : grid.index(this.side.sel);
    if (chosen >= 0) {
      const { x, y } = this.at(chosen);
      pen.strokeStyle = theme.text;
      pen.lineWidth = 2;
      pen.strokeRect(x - 4, y - 4, unit + 8, rise + 8);
    }
  }

  // Paints the cells in sight, a pixel for each run of them: the status that matters most is seen. If it is known which
  // few cells have changed, only their pixels.
  fillRaster(line0, wide, tall, few) {
    const { grid, per, columns } = this, codes = this.rasterCodes(), { odd } = grid;
    if (this.pixels?.width !== wide || this.pixels.height !== tall) this.pixels = new ImageData(wide, tall);
    const lut = this.view.theme.raster(this.rasterLut()), data = new Uint32Array(this.pixels.data.buffer);
    const start = line0 * columns, stop = Math.min((line0 + tall) * columns, grid.n);
    if (few) {
      for (const i of few) {
        const at = Math.floor((i - start) / per), from = start + at * per;
        if (i >= start && i < stop) paintRuns(data, at, codes, odd, lut, per, from, Math.min(from + per, stop));
      }
    } else {
      data.fill(0, paintRuns(data, 0, codes, odd, lut, per, start, stop));
    }
    this.image ||= el("canvas");
    if (this.image.width !== wide || this.image.height !== tall) Object.assign(this.image, { width: wide, height: tall });
    this.image.getContext("2d").putImageData(this.pixels, 0, 0);
  }

  rasterCodes() {
    const { grid, store } = this;
    if (grid.diff && !this.side.index) return grid.diff.codes;
    if (this.colorBy === "status") return grid.status;
    const codes = new Uint8Array(grid.n);
    for (let i = 0; i < grid.n; i += 1) {
      if (!grid.status[i]) continue;
      if (this.colorBy === "owner") codes[i] = 1 + ((store.block(store.region(grid.cells[i])) ?? 0) % 8);
      else {
        const k = Math.floor(grid.cells[i] / CHUNK), chunk = store.reach(k, this.side.p) ? store.chunks.get(k) : null;
        const at = 2 * (grid.cells[i] - k * CHUNK), high = chunk?.words[at + 1];
        if (high || chunk?.words[at]) codes[i] = 1 + (grid.isProtocol(i) ? 0 : (this.view.theme.tagClass((high >>> 24) & 0x7f) + 1) % 8);
      }
    }
    return codes;
  }

  rasterLut() {
    const { theme } = this.view;
    if (this.grid.diff && !this.side.index) return DIFF_COLORS.map((color, k) => (k ? color : theme.quiet));
    return this.colorBy === "status" ? theme.status : this.colorBy === "kind" ? [theme.zero, PINNED[7], ...PINNED] : [theme.zero, ...PINNED];
  }

  drawRegions(pen) {
    const { store, side, w, h, columns, mode } = this, { theme } = this.view, use = store.use(side.p);
    const events = store.events(side.p), entries = new Map(), { r0, r1 } = this.view.regionRange(side);
    for (let i = events?.lo ?? 0; i < (events?.hi ?? 0); i += 1) {
      const region = store.region(events.w.loc[i]);
      entries.set(region, (entries.get(region) || 0) + 1);
    }
    const place = (region) => ({ x: 6 + ((region - r0) % columns) * w, y: 4 + Math.floor((region - r0) / columns) * h });
    const top = this.scrolled, bottom = top + this.height;
    for (let region = r0; region < r1; region += 1) {
      const { x, y } = place(region);
      if (y + h < top || y > bottom) continue;
      const owner = store.regions && store.regions.since[region] <= side.p ? store.block(region) : null;
      const full = use ? use[region] / store.meta.region_size : 0, waiting = entries.get(region) || 0;
      const gap = w >= 8 ? 3 : 1;
      pen.fillStyle = owner === null ? theme.empty : theme.quiet;
      pen.fillRect(x, y, w - gap, h - gap);
      pen.fillStyle = theme.useFill;
      pen.fillRect(x, y + (h - gap) * (1 - full), w - gap, (h - gap) * full);
      const pinned = this.view.pins.indexOf(region);
      if (pinned >= 0 || region === this.view.region) {
        pen.strokeStyle = pinned >= 0 ? PINNED[pinned % PINNED.length] : theme.text;
        pen.lineWidth = 2.5;
        pen.strokeRect(x + 1, y + 1, w - gap - 2, h - gap - 2);
      }
      if (waiting) {
        pen.strokeStyle = theme.frontierLine;
        pen.lineWidth = w >= 20 ? 2 : 1;
        pen.strokeRect(x + 0.5, y + 0.5, w - gap - 1, h - gap - 1);
      }
      if (mode !== "boxes") continue;
      pen.fillStyle = theme.text;
      pen.font = theme.font(11, true);
      pen.fillText(`region ${region}`, x + 5, y + 10, w - gap - 8);
      pen.font = theme.font(10);
      pen.fillStyle = theme.muted;
      pen.fillText(owner === null ? "no owner yet" : `B${owner} · ${count(use?.[region] ?? 0)} cells`, x + 5, y + 24, w - gap - 8);
      if (waiting && h > 38) {
        pen.fillStyle = theme.frontierText;
        pen.fillText(plural(waiting, "entry", "entries"), x + 5, y + 38, w - gap - 8);
      }
    }
    const pairs = new Map();
    for (const { loc, slot } of this.deferred()) {
      const key = `${store.region(loc)},${store.region(slot)}`;
      pairs.set(key, (pairs.get(key) || 0) + 1);
    }
    for (const [key, n] of [...pairs].slice(0, 300)) {
      const [home, owner] = key.split(",").map(Number);
      if (home === owner || home < r0 || home >= r1 || owner < r0 || owner >= r1) continue;
      const a = place(home), b = place(owner), x0 = a.x + w / 2, y0 = a.y + h / 2, x1 = b.x + w / 2, y1 = b.y + h / 2;
      ink(pen, theme.deferredLine, clamp(1 + Math.log2(n), 1, clamp(w / 8, 1, 5)));
      line(pen, x0, y0, x1, y1);
      this.arrow(pen, x1, y1, Math.atan2(y1 - y0, x1 - x0), theme.deferredLine, clamp(w / 3, 3, 9));
    }
  }

  // --- the net: a graph around the selection

  drawNet(pen) {
    const { theme } = this.view, { side, store } = this;
    pen.font = theme.font(12);
    pen.fillStyle = theme.muted;
    const say = (text) => (this.netNote = text, pen.fillText(text, 10, 20, this.width - 20));
    if (!store.full) return say("record='full' shows the graph: this trace does not hold cell contents");
    const root = side.sel ?? this.grid.cells?.[0] ?? 0;
    const key = `${root}@${side.p}/${this.width}/${this.zoomed}/${store.version}`;
    if (this.netKey !== key || !this.net) {
      this.netKey = key;
      this.graph = this.around(root, 4 + Math.round(2 * Math.log2(this.zoomed)), 300);
      this.spread(this.graph);
    }
    this.net = this.graph.nodes;
    const more = this.graph.cut ? "; double-click a stub (…) to go on" : side.sel == null && this.net.length < 2 ? "; select a cell or an event to start there" : "";
    this.netNote = `${plural(this.net.length, "cell")} from cell ${root}${more}`;
    for (const [a, b, bound] of this.graph.edges) {
      ink(pen, bound ? theme.subText : theme.pointer, 1.2, bound ? [4, 3] : []);
      pen.beginPath();
      pen.moveTo(a.x, a.y + 12);
      pen.bezierCurveTo(a.x, (a.y + b.y) / 2 + 6, b.x, (a.y + b.y) / 2 - 6, b.x, b.y - 12);
      pen.stroke();
      pen.setLineDash([]);
      this.arrow(pen, b.x, b.y - 12, Math.PI / 2, pen.strokeStyle);
    }
    pen.textAlign = "center";
    for (const node of this.net) {
      const i = this.grid.index(node.loc), status = i >= 0 ? this.grid.status[i] : STATUS.idle;
      pen.fillStyle = theme.box[status] || theme.background;
      pen.fillRect(node.x - node.w / 2, node.y - 12, node.w, 24);
      theme.cue(pen, status, node.x - node.w / 2, node.y - 12, node.w, 24);
      if (node.loc === side.sel) {
        pen.strokeStyle = theme.text;
        pen.lineWidth = 2.5;
        pen.strokeRect(node.x - node.w / 2 - 1, node.y - 13, node.w + 2, 26);
      }
      pen.fillStyle = theme.text;
      pen.font = theme.font(11, true);
      pen.fillText(node.text, node.x, node.y + 1, node.w - 4);
    }
    pen.textAlign = "left";
    return undefined;
  }

  // Nodes within so many steps of a cell, breadth first, and their pointers; also who points to the cell.
  around(root, depth, most) {
    const nodes = new Map(), edges = [];
    let cut = false;
    const add = (loc, level) => {
      const word = this.store.word(loc, this.side.p);
      const text = word ? `${loc}: ${this.terms.short(word, loc)}` : `${loc}: …`;
      nodes.set(loc, { loc, level, word, text, w: clamp(text.length * 7 + 12, 44, 130) });
      return nodes.get(loc);
    };
    const queue = [add(root, 0)];
    for (const node of queue) {
      if (!node.word) continue;
      const bound = !this.terms.arity(this.terms.read(node.word).tag);
      for (const target of this.terms.targets(node.word, node.loc)) {
        if (!nodes.has(target) && (node.level + 1 > depth || nodes.size >= most)) {
          if (!node.text.endsWith("…")) node.text += " …";
          cut = true;
          continue;
        }
        const known = nodes.get(target);
        const next = known || add(target, node.level + 1);
        if (!known) queue.push(next);
        edges.push([node, next, bound]);
      }
    }
    return { nodes: [...nodes.values()], edges, cut };
  }

  // Levels below each other; on a level, nodes stand below the middle of what points to them.
  spread({ nodes, edges }) {
    const levels = [];
    for (const node of nodes) (levels[node.level] ||= []).push(node);
    const above = new Map();
    for (const [a, b] of edges) if (b.level > a.level) (above.get(b) || above.set(b, []).get(b)).push(a);
    const step = clamp((this.height - 40) / Math.max(levels.length - 1, 1), 42, 84);
    levels.forEach((row, level) => {
      const wish = (node) => {
        const parents = above.get(node) || [];
        return parents.length ? parents.reduce((sum, each) => sum + each.x, 0) / parents.length : this.width / 2;
      };
      row.forEach((node) => Object.assign(node, { want: wish(node), y: 22 + level * step }));
      row.sort((a, b) => a.want - b.want || a.loc - b.loc);
      const wide = row.reduce((sum, node) => sum + node.w + 10, 0), squeeze = Math.min(1, (this.width - 12) / wide);
      let x = 6;
      row.forEach((node, k) => {
        node.w *= squeeze;
        const rest = row.slice(k + 1).reduce((sum, each) => sum + (each.w + 10) * (each === node ? 1 : squeeze), 0);
        node.x = clamp(node.want, x + node.w / 2, Math.max(this.width - 6 - rest - node.w / 2, x + node.w / 2));
        x = node.x + node.w / 2 + 10 * squeeze;
      });
    });
    this.high = 44 + (levels.length - 1) * step;
    this.measure();
  }

  // --- the table

  rows() {
    if (!this.tableRows) {
      const { grid } = this, rows = [];
      for (let i = 0; i < grid.n; i += 1) if (grid.status[i]) rows.push(grid.cells[i]);
      this.tableRows = rows;
    }
    return this.tableRows;
  }

  tableRow(i) {
    const { store, side } = this, loc = this.rows()[i], at = this.grid.index(loc), word = store.word(loc, side.p);
    const status = this.grid.status[at], diff = this.grid.diff?.codes[at];
    return {
      cells: [
        String(loc), String(store.region(loc)), store.thread(store.owner(loc)), word ? this.terms.short(word, loc) : "not recorded",
        `${STATUS_NAMES[status]}${diff ? ` ${DIFF_SIGNS[diff]}` : ""}`, word ? this.terms.targets(word, loc).join(" ") || "—" : "—", String(this.grid.seenAt[at]),
      ],
      mark: `hv-is-${STATUS_NAMES[status].toLowerCase()}`,
      here: loc === side.sel,
    };
  }

  // --- one step in motion

  // Shows what happens from pass p to the next: slots taken, tasks sent to owners, cells made and given up.
  animate(p, back) {
    if (this.kind !== "cells" || !this.width) return;
    const { store, grid } = this, taken = new Set(), made = [], gone = [];
    const ops = store.operations(p), take = store.meta.operations.indexOf("take");
    for (let i = ops?.lo ?? 0; i < (ops?.hi ?? 0); i += 1) if (ops.w.op_op[i] === take) taken.add(ops.w.op_slot[i]);
    const deltas = store.deltas(p);
    for (let i = this.flat ? Infinity : deltas?.lo ?? 0; i < Math.min(deltas?.hi ?? 0, (deltas?.lo ?? 0) + 4000); i += 1) {
      const was = deltas.w.delta_before[2 * i] | deltas.w.delta_before[2 * i + 1], is = deltas.w.delta_after[2 * i] | deltas.w.delta_after[2 * i + 1];
      if (!was && is) made.push(deltas.w.delta_cell[i]);
      if (was && !is) gone.push(deltas.w.delta_cell[i]);
    }
    const given = [];
    store.regions?.since.forEach((since, region) => since === p + 1 && given.push(region));
    const places = (cells) => cells.map((cell) => grid.index(cell)).filter((i) => i >= 0).slice(0, 2000);
    this.anim = {
      start: performance.now(), back, given, taken: places([...taken]), made: places(made), gone: places(gone),
      sent: this.deferred(p).map(({ loc, slot }) => [grid.index(loc), grid.index(slot)]).filter(([i, j]) => i >= 0 && j >= 0).slice(0, 500),
    };
    this.moves = (this.moves || 0) + 1;
    this.moving ||= requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.moving = 0;
    if (!this.anim) return;
    if (performance.now() - this.anim.start >= MOTION_MS) this.anim = null;
    if (!this.view.drawing) this.draw();
    if (this.anim) this.moving = requestAnimationFrame(() => this.frame());
  }

  drawMoves(pen) {
    if (!this.anim || !this.blocks) return;
    const { theme } = this.view, done = clamp((performance.now() - this.anim.start) / MOTION_MS, 0, 1), t = this.anim.back ? 1 - done : done;
    pen.save();
    for (const i of this.anim.taken) {
      const { x, y, w, h } = this.at(i);
      pen.globalAlpha = 1 - t;
      pen.strokeStyle = theme.subText;
      pen.lineWidth = 3;
      pen.strokeRect(x - 6 * t, y - 6 * t, w + 12 * t - 4, h + 12 * t - 4);
    }
    for (const [cells, alpha] of [[this.anim.made, 1 - t], [this.anim.gone, t]]) {
      pen.globalAlpha = alpha;
      pen.fillStyle = theme.background;
      for (const i of cells) {
        const { x, y, w, h } = this.at(i);
        pen.fillRect(x, y, w, h);
      }
    }
    pen.globalAlpha = 1;
    for (const [i, j] of this.anim.sent) {
      const a = this.at(i), b = this.at(j), w = clamp(a.w * 0.4, 4, 30), h = clamp(a.h * 0.4, 4, 16);
      pen.fillStyle = theme.status[STATUS.deferred];
      pen.strokeStyle = theme.text;
      pen.lineWidth = 1;
      const x = a.x + (b.x - a.x) * t + a.w / 2 - w / 2, y = a.y + (b.y - a.y) * t + a.h / 2 - h / 2;
      pen.fillRect(x, y, w, h);
      pen.strokeRect(x, y, w, h);
    }
    for (const block of this.visibleBlocks()) {
      if (!this.anim.given.includes(block.region)) continue;
      pen.globalAlpha = 1 - t;
      pen.strokeStyle = theme.frontierLine;
      pen.lineWidth = 3;
      pen.strokeRect(block.x - 4, block.y, block.wide + 8, block.high + 2);
    }
    pen.restore();
  }
}

// ---------------------------------------------------------------- Colours

class Theme {
  constructor(root, palette) {
    this.root = root;
    this.palette = PALETTES[palette] || PALETTES.okabe_ito;
    this.key = "";
  }

  // Reads the colours that the surroundings give; true if they have changed.
  read() {
    const style = getComputedStyle(this.root), value = (name) => style.getPropertyValue(name).trim();
    const [background, text] = [style.backgroundColor || "rgb(255, 255, 255)", style.color || "rgb(26, 26, 26)"].map((color) => this.hex(color));
    const bright = rgb(background).reduce((sum, part, i) => sum + part * [0.299, 0.587, 0.114][i], 0);
    const dark = bright < 128, key = [background, text, value("--hv-font"), dark].join();
    this.root.dataset.theme = dark ? "dark" : "light";
    if (key === this.key) return false;
    Object.assign(this, { key, dark, background, text, family: value("--hv-font") || "sans-serif" });
    const mix = (color, part, over = background) => {
      const a = rgb(color), b = rgb(over);
      return `#${a.map((x, i) => Math.round(x * part + b[i] * (1 - part)).toString(16).padStart(2, "0")).join("")}`;
    };
    this.mix = mix;
    this.muted = mix(text, 0.72);
    this.line = mix(text, 0.28);
    this.pointer = mix(text, 0.55);
    this.quiet = mix(text, dark ? 0.2 : 0.12);
    this.empty = mix(text, 0.05);
    this.band = mix(text, 0.07);
    this.zero = dark ? "#25282d" : "#ededf0";
    this.halo = mix(background, 0.9);
    this.drag = `${mix(text, 0.5)}55`;
    this.hit = dark ? "#ff9d5c" : "#a84300";
    this.mark = dark ? "#f0e442" : "#8f8400";
    this.markFill = mix("#f0e442", dark ? 0.4 : 0.5);
    const light = (color, part) => (dark ? mix(color, part, "#ffffff") : color);
    this.status = this.palette.map((color, i) => (i ? light(color, i === STATUS.frontier ? 0.75 : 0.9) : ""));
    this.status[STATUS.idle] = mix(text, dark ? 0.4 : 0.38);
    this.box = this.status.map((color, i) => (i ? mix(color, dark ? 0.28 : 0.2) : ""));
    this.box[STATUS.idle] = background;
    this.box[STATUS.freed] = mix(text, 0.04);
    this.frontierLine = dark ? "#56a8e0" : "#0072B2";
    this.frontierText = dark ? "#8cc6ef" : "#005a8d";
    this.frontierFill = mix(this.frontierLine, 0.28);
    this.reducedLine = dark ? "#2fc79c" : "#00805c";
    this.deferredLine = dark ? "#f0b43c" : "#b87700";
    this.subText = dark ? "#e3a9c8" : "#94437a";
    this.errorText = dark ? "#ff9455" : "#a84300";
    this.useFill = mix(this.reducedLine, 0.3);
    return true;
  }

  hex(color) {
    const parts = color.match(/[\d.]+/g)?.map(Number) || [255, 255, 255];
    if (parts.length > 3 && parts[3] === 0) return "#ffffff";
    const unit = color.startsWith("color(") ? 255 : 1;
    return `#${parts.slice(0, 3).map((part) => Math.round(part * unit).toString(16).padStart(2, "0")).join("")}`;
  }

  font(size, strong = false) {
    return `${strong ? "600 " : ""}${size}px ${this.family}`;
  }

  ofBlock(block) {
    return this.palette === PALETTES.grey ? this.mix(this.text, 0.2 + 0.6 * ((block % 8) / 8)) : PINNED[block % PINNED.length];
  }

  // Kinds of terms: value, superposition, variable or end, lambda, application and operators, closure, other.
  tagClass(tag) {
    if ((tag >= 13 && tag <= 30) || tag === 9 || tag === 11) return 0;
    if (tag === 5 || tag === 6) return 1;
    if (tag === 1 || tag === 3 || tag === 4) return 3;
    if (tag === 2 || tag === 12 || (tag >= 31 && tag <= 32)) return 2;
    if (tag === 7 || tag === 8) return 4;
    return tag < 64 ? 5 : 7;
  }

  ofTag(tag) {
    return PINNED[this.tagClass(tag)];
  }

  // The second cue of a status: outline, dot, hatch, double edge, cross, sign.
  cue(pen, status, x, y, w, h) {
    const strong = status === STATUS.frontier || status === STATUS.deferred || status === STATUS.error;
    ink(pen, status === STATUS.deferred ? this.deferredLine : this.status[status], strong ? 2 : 1, status === STATUS.freed ? [2, 2] : []);
    pen.strokeRect(x, y, w, h);
    pen.setLineDash([]);
    if (status === STATUS.sub) pen.strokeRect(x + 2.5, y + 2.5, w - 5, h - 5);
    if (status === STATUS.reduced) {
      pen.fillStyle = this.reducedLine;
      pen.beginPath();
      pen.arc(x + w - 6, y + 6, 2.5, 0, 7);
      pen.fill();
    }
    if (status === STATUS.deferred) this.hatch(pen, x, y, w, h, 7);
    if (status === STATUS.freed) {
      line(pen, x + w - 9, y + 3, x + w - 3, y + 9);
      line(pen, x + w - 3, y + 3, x + w - 9, y + 9);
    }
    if (status === STATUS.error) {
      pen.fillStyle = this.errorText;
      pen.font = this.font(12, true);
      pen.fillText("!", x + w - 8, y + 8);
    }
  }

  hatch(pen, x, y, w, h, step) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w, h);
    pen.clip();
    pen.strokeStyle = this.deferredLine;
    pen.globalAlpha = 0.45;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let at = -h; at < w; at += step) {
      pen.moveTo(x + at, y + h);
      pen.lineTo(x + at + h, y);
    }
    pen.stroke();
    pen.restore();
  }

  tileCue(pen, status, x, y, w, h) {
    pen.strokeStyle = this.background;
    pen.fillStyle = this.background;
    pen.lineWidth = 1;
    if (status === STATUS.reduced) pen.fillRect(x + w / 2 - 1, y + h / 2 - 1, 2, 2);
    if (status === STATUS.sub) pen.strokeRect(x + 1.5, y + 1.5, w - 3, h - 3);
    if (status === STATUS.freed || status === STATUS.deferred) {
      line(pen, x, y + h, x + w, y);
      if (status === STATUS.freed) line(pen, x, y, x + w, y + h);
    }
    if (status === STATUS.error) pen.fillRect(x + w / 2 - 0.5, y + 1, 1.5, h - 2);
  }

  // Colours of bytes for a raster: each twice, for cells of even and of odd regions.
  raster(colors) {
    const lut = new Uint32Array(2 * colors.length);
    colors.forEach((color, i) => {
      for (const odd of [0, 1]) {
        const [r, g, b] = color ? rgb(odd ? this.mix(color, 0.86, this.text) : color) : rgb(odd ? this.band : this.background);
        lut[2 * i + odd] = (255 << 24) | (b << 16) | (g << 8) | r;
      }
    });
    return lut;
  }
}

// ---------------------------------------------------------------- Inspector, events, source

class Inspector {
  constructor(view, parent) {
    this.view = view;
    this.box = el("section", "hv-inspector", "", parent);
    voice(this.box, "Inspector");
    this.box.tabIndex = 0;
    this.body = el("div", "", "", this.box);
  }

  draw() {
    const { view } = this, side = view.chosen, { store, terms, sel, p } = side;
    if (view.playing && performance.now() - (this.drawn || 0) < 120) return;
    this.drawn = performance.now();
    const key = [side.index, sel, sel === null && view.region === null ? "" : `${p}/${store.version}/${view.paneOf(side).grid.version}`, view.region].join();
    if (this.key === key) return;
    this.key = key;
    const scroll = this.box.scrollTop;
    this.body.replaceChildren();
    const title = el("div", "hv-title", sel === null ? "Inspector" : `cell ${sel}`, this.body);
    if (sel === null) {
      el("p", "hv-muted", "Click a cell, an entry of the list, or a definition. Keys: press ?", this.body);
      if (view.region !== null) this.region(view.region, store, p);
      return;
    }
    if (side.name) title.textContent += ` in ${side.name}`;
    const facts = el("dl", "hv-facts", "", this.body);
    const fact = (name, value, act = null) => {
      el("dt", "", name, facts);
      const node = el("dd", "", "", facts);
      if (act) button(node, visible(value), `Go to ${value}`, act, "hv-link");
      else node.textContent = visible(value);
      return node;
    };
    const word = store.word(sel, p), region = store.region(sel), times = store.times(sel);
    if (word) {
      const { tag, ext, val, sub, free } = terms.read(word), role = terms.role(sel, word);
      fact("word", `0x${word[1].toString(16).padStart(8, "0")}${word[0].toString(16).padStart(8, "0")}`);
      if (role) fact("protocol", terms.short(word, sel));
      else fact("term", free ? "nothing: the cell is free" : `${terms.tagName(tag)}${terms.isConstructor(tag) ? ` ${terms.constructor_(ext)}` : ""}`);
      if (!free && !role) fact(/^(SUP|DP.|F_DP.)$/.test(terms.tagName(tag)) ? "label" : "ext", `${ext} (${terms.name(ext)}) · value ${count(val)}`);
      if (sub && !role) fact("SUB", "yes: the value of the other side, final");
      if (!role) fact("reads", terms.show(sel, p)).className = "hv-term";
    } else {
      fact("holds", store.full ? "on its way" : "not recorded: record='full' shows cell contents");
    }
    fact("region", `${region}, owner ${store.thread(store.owner(sel))}`);
    const i = view.paneOf(side).grid.index(sel);
    if (i >= 0) fact("state", STATUS_NAMES[view.paneOf(side).grid.status[i]]);
    this.history(fact, side, times);
    if (word) {
      const targets = terms.targets(word, sel);
      if (targets.length) this.links(facts, "points to", targets, side);
      const sources = this.pointersTo(sel, side);
      if (sources.length) this.links(facts, "pointed to by", sources, side);
    }
    this.why(side);
    const span = view.spanOf(sel, side);
    if (span) fact("source", `${view.source.place(span)}`, () => view.source.reveal(span));
    else if (times && store.full) fact("source", `no span: made in pass ${Math.max(times.seen - 1, 0)} by ${store.thread(store.owner(sel))}`);
    this.box.scrollTop = scroll;
  }

  region(region, store, p) {
    const facts = el("dl", "hv-facts", "", this.body), use = store.use(p), owner = store.block(region);
    for (const [name, value] of [
      ["region", String(region)], ["owner", owner === null ? "none yet" : `block ${owner}`],
      ["since", store.regions?.since[region] ? `after pass ${store.regions.since[region] - 1}` : "the start"],
      ["in use", use ? `${count(use[region])} of ${plural(store.meta.region_size, "cell")}` : "…"],
    ]) {
      el("dt", "", name, facts);
      el("dd", "", value, facts);
    }
  }

  links(facts, name, cells, side) {
    el("dt", "", name, facts);
    const node = el("dd", "", "", facts);
    for (const cell of cells.slice(0, 12)) button(node, String(cell), `Select cell ${cell}`, () => this.view.select(cell, side), "hv-link");
    if (cells.length > 12) el("span", "hv-muted", ` and ${cells.length - 12} more`, node);
  }

  // Passes in which something happened to the cell: its tasks, and what changed in it.
  history(fact, side, times) {
    const { store, sel, p } = side, life = this.life(side);
    if (times) fact("first seen", `pass ${times.seen}`, () => this.view.seek(times.seen, side));
    if (times && times.done !== NEVER) fact("done", `pass ${times.done}`, () => this.view.seek(times.done, side));
    const before = life.filter((each) => each.p < p && each.writes).pop(), after = life.find((each) => each.p >= p && each.reads);
    if (before) fact("last writer", `pass ${before.p}, ${store.thread(before.thread ?? store.owner(sel))}`, () => this.view.seek(before.p, side));
    if (after) fact("next reader", `pass ${after.p}, ${store.thread(after.thread)}`, () => this.view.seek(after.p, side));
    if (life.length) {
      const list = el("ol", "hv-life");
      for (const each of life.slice(Math.max(life.findIndex((one) => one.p >= p) - 4, 0)).slice(0, 10)) {
        const item = el("li", each.p === p ? "hv-here" : "", "", list);
        button(item, `${each.p}`, `Go to pass ${each.p}`, () => this.view.seek(each.p, side), "hv-link");
        el("span", "", ` ${visible(each.text)}`, item);
      }
      fact("history", "").appendChild(list);
    }
  }

  // What is known of the cell's life from the windows that are here; of a small trace, all of it.
  life({ store, terms, sel }) {
    const key = `${sel}/${store.windows.length}`;
    if (store.lifeKey === key) return store.lifeOf;
    const found = [], { outcomes, reasons, operations } = store.meta;
    for (const w of store.windows) {
      const passOf = (offsets, i) => w.p0 + lowerBound(offsets, i + 1) - 1;
      for (let i = w.loc ? w.loc.indexOf(sel) : -1; i >= 0; i = w.loc.indexOf(sel, i + 1)) {
        const reason = reasons[w.reason[i]];
        const text = `${outcomes[w.outcome[i]]}${reason ? ` (${reason})` : ""} by ${store.thread(w.thread[i])}${w.slot[i] ? ` at slot ${w.slot[i]}` : ""}`;
        found.push({ p: passOf(w.event_offsets, i), order: 1, text, thread: w.thread[i], reads: true, writes: outcomes[w.outcome[i]] === "done" });
      }
      for (let i = w.op_slot ? w.op_slot.indexOf(sel) : -1; i >= 0; i = w.op_slot.indexOf(sel, i + 1)) {
        const p = passOf(w.op_offsets, i), event = w.event_offsets[p - w.p0] + w.op_event[i];
        found.push({ p, order: 2, text: `${operations[w.op_op[i]]} by ${store.thread(w.thread[event])} for cell ${w.loc[event]}`, thread: w.thread[event], reads: true, writes: ["publish", "take"].includes(operations[w.op_op[i]]) });
      }
      for (let i = w.delta_cell ? w.delta_cell.indexOf(sel) : -1; i >= 0; i = w.delta_cell.indexOf(sel, i + 1)) {
        const pair = (column) => [column[2 * i], column[2 * i + 1]];
        found.push({ p: passOf(w.delta_offsets, i), order: 3, text: `${terms.short(pair(w.delta_before), sel)} → ${terms.short(pair(w.delta_after), sel)}`, writes: true });
      }
    }
    found.sort((a, b) => a.p - b.p || a.order - b.order);
    for (const each of found) {
      if (each.order === 3) each.thread = found.find((one) => one.p === each.p && one.thread !== undefined)?.thread;
    }
    Object.assign(store, { lifeKey: key, lifeOf: found });
    return found;
  }

  pointersTo(loc, { store, terms, p }) {
    if (!store.full || !store.seen) return [];
    const found = [], { cell } = store.seen;
    if (cell.length > 300000) return [];
    for (let i = 0; i < cell.length && found.length < 40; i += 1) {
      if (store.seen.seen[i] > p) continue;
      const word = store.word(cell[i], p);
      if (!word) return found;
      const { val } = terms.read(word);
      if (val && val <= loc && loc - val < 17 && terms.targets(word, cell[i]).includes(loc)) found.push(cell[i]);
    }
    return found;
  }

  // Why the cell's task waits: slot after slot, who holds it, and when its value appears.
  why(side) {
    const { store, sel, p } = side, { reasons } = store.meta, chain = [], seen = new Set();
    for (let loc = sel; loc !== null && !seen.has(loc) && chain.length < 12;) {
      seen.add(loc);
      const at = loc;
      const wait = this.opening(side, at) || store.waits(p).find((each) => each.loc === at);
      if (!wait) break;
      chain.push(wait);
      loc = this.holder(side, wait.slot);
    }
    if (!chain.length) return;
    const box = el("div", "hv-why", "", this.body);
    el("div", "hv-title", "why is it waiting", box);
    const list = el("ol", "", "", box);
    for (const wait of chain) {
      const item = el("li", "", "", list);
      el("span", "", `cell ${wait.loc} needs slot ${wait.slot} (${reasons[wait.reason] || "busy"}): asked in pass ${wait.opened} from region ${store.region(wait.loc)}, its owner is ${store.thread(store.owner(wait.slot))} of region ${store.region(wait.slot)}. `, item);
      if (wait.closed >= 0) button(item, `SUB or turn in pass ${wait.closed}, age ${wait.age}`, `Go to pass ${wait.closed}`, () => this.view.seek(wait.closed, side), "hv-link");
      else el("span", "", "Still waiting at the end of the recording.", item);
      button(item, `slot ${wait.slot}`, `Select slot ${wait.slot}`, () => this.view.select(wait.slot, side), "hv-link");
    }
  }

  opening({ store, p }, loc) {
    const w = store.window(p, { want: false });
    return w?.wait_loc ? store.ageOf(w, p, loc) : null;
  }

  // Root cell of the task that has taken a slot and not given it back, from what is here.
  holder({ store, p }, slot) {
    if (!store.full) return null;
    for (let at = Math.min(p, store.n) - 1; at >= Math.max(p - 2000, 0); at -= 1) {
      const w = store.window(at, { want: false });
      if (!w) return null;
      for (let i = w.op_offsets[at - w.p0 + 1] - 1; i >= w.op_offsets[at - w.p0]; i -= 1) {
        if (w.op_slot[i] !== slot) continue;
        const name = store.meta.operations[w.op_op[i]];
        if (name === "take") return w.loc[w.event_offsets[at - w.p0] + w.op_event[i]];
        if (name === "publish" || name === "release" || name === "stuck") return null;
      }
    }
    return null;
  }
}

const EVENT_MODES = [["pass", "this pass"], ["deferrals", "all deferrals"], ["run", "whole run"]];

class Events {
  constructor(view, parent) {
    this.view = view;
    this.mode = "pass";
    this.kind = "";
    this.box = el("section", "hv-events", "", parent);
    voice(this.box, "Events");
    const bar = el("div", "hv-bar", "", this.box);
    el("span", "hv-title", "Events", bar);
    this.modePick = choice(bar, "Which events", EVENT_MODES, (mode) => this.set(mode, this.kind));
    const kinds = [["", "every outcome"], ...view.main.store.meta.outcomes.slice(1).map((name) => [name, name])];
    this.kindPick = choice(bar, "Outcome of the events", kinds, (kind) => this.set(this.mode, kind));
    this.note = el("span", "hv-note", "", bar);
    this.list = new List(this.box, "Events", [
      ["pass", "0 0 34px"], ["outcome", "0 0 58px"], ["cell", "0 0 49px"], ["thread", "0 0 38px"], ["home", "0 0 33px"], ["owner", "0 0 36px"],
      ["slot", "0 0 51px"], ["age", "0 0 23px"], ["reason", "1 0 34px"], ["work", "0 0 28px"],
    ], { size: () => this.rows.length, row: (i) => this.row(i), act: (i) => this.go(i) });
    this.rows = { length: 0 };
  }

  set(mode, kind) {
    this.mode = mode;
    this.kind = kind;
    this.modePick.value = mode;
    this.kindPick.value = kind;
    this.kindPick.disabled = mode === "deferrals";
    this.list.box.scrollTop = 0;
    this.list.measure();
    this.list.cursor = 0;
    this.view.update();
  }

  // Makes up the list: of one pass, of all deferrals, or of all events that are here.
  refresh() {
    const { store, p } = this.view.main, { meta } = store;
    const wanted = this.kind ? meta.outcomes.indexOf(this.kind) : -1, all = store.windows.length === store.cuts?.length;
    let note = all || store.whole ? "" : "of the passes that are loaded";
    if (this.mode === "deferrals") {
      this.rows = store.deferrals().map(([w, i]) => ({ w, i, wait: true }));
      note = `${plural(this.rows.length, "deferral")} ${note}`;
    } else {
      if (this.mode === "pass") {
        const events = store.events(p);
        this.rows = [];
        for (let i = events?.lo ?? 0; i < (events?.hi ?? 0); i += 1) {
          if (wanted < 0 || events.w.outcome[i] === wanted) this.rows.push({ w: events.w, i, p });
        }
      } else {
        this.rows = this.all(wanted);
      }
      const n = this.rows.length;
      note = `${plural(n, "event")} ${this.mode === "pass" ? `in pass ${count(p)}` : note}`;
      if (!meta.n_events && store.n) note = meta.dropped ? store.uncut() : `no events: this trace was recorded at level ${meta.level}`;
      else if (this.mode === "pass" && p >= store.n) note = store.n ? `the end: pass ${count(store.n - 1)} was the last one` : "0 passes: nothing was run";
      else if (this.mode === "pass" && p >= meta.events_until) note = `events were kept up to pass ${count(meta.events_until - 1)}; counters go on`;
      else if (this.mode === "pass" && !store.isCached(p)) note = "on its way";
    }
    retell(this.note, note.trim());
    this.list.draw();
  }

  // Every event that is here, without an object for each.
  all(wanted) {
    const { store } = this.view.main, starts = [], key = `${wanted}/${store.windows.length}`;
    if (this.allKey === key) return this.allRows;
    let total = 0;
    const parts = store.windows.filter((w) => w.loc).map((w) => {
      let rows = null;
      if (wanted >= 0) {
        rows = [];
        for (let i = 0; i < w.outcome.length; i += 1) if (w.outcome[i] === wanted) rows.push(i);
      }
      starts.push(total);
      total += rows ? rows.length : w.loc.length;
      return { w, rows };
    });
    this.allKey = key;
    this.allRows = {
      length: total,
      at(i) {
        const k = lowerBound(starts, i + 1) - 1, { w, rows } = parts[k];
        const event = rows ? rows[i - starts[k]] : i - starts[k];
        return { w, i: event, p: w.p0 + lowerBound(w.event_offsets, event + 1) - 1 };
      },
    };
    return this.allRows;
  }

  entry(i) {
    return this.rows.at(i);
  }

  row(i) {
    const { store, p, sel } = this.view.main, { outcomes, reasons } = store.meta, each = this.entry(i), { w } = each;
    if (each.wait) {
      const wait = store.wait(w, each.i);
      return {
        cells: [
          String(wait.opened), outcomes[wait.outcome], String(wait.loc), store.thread(wait.thread), String(store.region(wait.loc)), String(store.region(wait.slot)),
          String(wait.slot), wait.age === null ? "open" : String(wait.age), `${reasons[wait.reason]}${wait.busy ? ", busy" : ""}`, "",
        ],
        mark: "hv-is-deferred", here: wait.opened === p,
      };
    }
    const k = each.i, outcome = outcomes[w.outcome[k]], slot = w.slot[k];
    const wait = outcome === "deferred" || outcome === "contended" ? store.ageOf(w, each.p, w.loc[k]) : null;
    return {
      cells: [
        String(each.p), outcome, String(w.loc[k]), store.thread(w.thread[k]), String(store.region(w.loc[k])), slot ? String(store.region(slot)) : "",
        slot ? String(slot) : "", wait ? (wait.age === null ? "open" : String(wait.age)) : "", reasons[w.reason[k]], String(w.interactions[k]),
      ],
      mark: `hv-is-${outcome === "contended" ? "deferred" : outcome}`,
      here: w.loc[k] === sel && each.p === p,
    };
  }

  go(i) {
    const each = this.entry(i);
    const [p, loc] = each.wait ? [each.w.wait_opened[each.i], each.w.wait_loc[each.i]] : [each.p, each.w.loc[each.i]];
    this.view.seek(p);
    this.view.select(loc);
  }
}

class Source {
  constructor(view, parent) {
    this.view = view;
    this.box = el("details", "hv-source", "", parent);
    el("summary", "", "Source", this.box);
    this.body = el("div", "hv-source-body", "", this.box);
    this.body.tabIndex = 0;
    this.body.setAttribute("role", "region");
    voice(this.body, "Source text");
    hear(this.box, "toggle", () => view.layout());
  }

  // Lays the texts out: each definition is a stretch of its own, so that it can be pointed at.
  fill() {
    const { source } = this.view.main.store;
    if (!source || this.filled) return;
    this.filled = true;
    this.files = source.files.map(([name, text, length], file) => {
      if (source.files.length > 1) el("div", "hv-file", visible(name), this.body);
      const pre = el("pre", "hv-code", "", this.body);
      const parts = [], ends = [0, ...source.definitions.flatMap(([, at, start, end]) => (at === file ? [start, end] : [])), text.length];
      const cuts = [...new Set(ends)].sort((a, b) => a - b).filter((at) => at <= text.length);
      for (let k = 0; k + 1 < cuts.length; k += 1) {
        const part = el("span", "", this.clean(text.slice(cuts[k], cuts[k + 1])), pre);
        const id = source.definitions.findIndex(([, at, start, end]) => at === file && start <= cuts[k] && cuts[k + 1] <= end);
        if (id >= 0) {
          part.className = "hv-definition";
          hear(part, "pointerenter", () => this.view.markDefinition(id));
          hear(part, "pointerleave", () => this.view.markDefinition(null));
          hear(part, "click", () => this.view.search.run(`def:@${source.definitions[id][0]}`));
        }
        parts.push({ start: cuts[k], end: cuts[k + 1], node: part, text: text.slice(cuts[k], cuts[k + 1]) });
      }
      if (length > text.length) el("p", "hv-muted", `… ${count(length - text.length)} more characters`, this.body);
      return parts;
    });
    if (!source.files.length) el("p", "hv-muted", "a heap laid out by hand: there is no source", this.body);
    if (!source.definitions.length && source.files.length) el("p", "hv-muted", "spans are not known here: the source has includes or primitives", this.body);
  }

  clean(text) {
    return text.split("\n").map((line) => line.split("\t").map(visible).join("\t")).join("\n");
  }

  // Marks a stretch of source.
  mark(span) {
    for (const range of this.marked || []) range.replaceWith(document.createTextNode(range.textContent));
    this.marked = [];
    if (!span || !this.files) return;
    for (const { start, end, node, text } of this.files[span.file] || []) {
      const lo = Math.max(span.start, start), hi = Math.min(span.end, end);
      if (lo >= hi) continue;
      node.replaceChildren(document.createTextNode(this.clean(text.slice(0, lo - start))));
      this.marked.push(el("mark", "", this.clean(text.slice(lo - start, hi - start)), node));
      node.appendChild(document.createTextNode(this.clean(text.slice(hi - start))));
    }
  }

  reveal(span) {
    this.box.open = true;
    this.mark(span);
    this.marked?.[0]?.scrollIntoView({ block: "nearest" });
  }

  place({ file, start }) {
    const [name, text] = this.view.main.store.source.files[file], before = text.slice(0, start).split("\n");
    return `${name.replace(/^<(.*)>$/, "$1")}:${before.length}:${before[before.length - 1].length + 1}`;
  }
}

// ---------------------------------------------------------------- Search

// What each key speaks of, as trace/query.py has it.
const SUBJECTS = {
  loc: "edoc", region: "edoc", thread: "edo", slot: "edo", side: "edo", outcome: "ed", reason: "ed", origin: "e",
  interactions: "e", cells: "e", age: "d", op: "o", tag: "c", label: "c", def: "c", name: "c",
};
const SIGNS = { ">": (a, b) => a > b, ">=": (a, b) => a >= b, "<": (a, b) => a < b, "<=": (a, b) => a <= b };

// Reads a query: which subjects (events, deferrals, operations, cells) to look through, and the tests of a row of each.
function parseQuery(text, { store, terms }) {
  const pairs = text.trim().split(/\s+/).map((word) => {
    const at = word.indexOf(":");
    if (at < 0) return ["name", word];
    const key = word.slice(0, at).toLowerCase();
    if (!SUBJECTS[key]) throw new Error(`no key ${key}; there are: ${Object.keys(SUBJECTS).join(", ")}`);
    if (at === word.length - 1) throw new Error(`${key}: is followed by nothing`);
    return [key, word.slice(at + 1)];
  });
  let subjects = [..."edoc"];
  for (const [key] of pairs) {
    subjects = subjects.filter((each) => SUBJECTS[key].includes(each));
    if (!subjects.length) throw new Error(`${pairs.map(([each]) => `${each}:`).join(" ")} speak of different things; search for one of them`);
  }
  if (!pairs.some(([key]) => ["age", "op", "tag", "label", "def", "name"].includes(key))) {
    const narrowed = subjects.filter((each) => each === "e" || (each === "c" && store.full));
    if (narrowed.length) subjects = narrowed;
  }
  if (!store.full && subjects.every((each) => each === "o" || each === "c")) throw new Error("names, operations and contents of cells need a trace recorded with record='full'");
  const tests = pairs.map(([key, value]) => queryTest(key, value, store, terms));
  return { subjects, fits: (row) => tests.every((test) => test(row)) };
}

function queryTest(key, value, store, terms) {
  const { meta, source } = store;
  const lists = { outcome: meta.outcomes, reason: meta.reasons, origin: meta.origins, op: meta.operations };
  if (lists[key]) {
    const code = lists[key].indexOf(value);
    if (code < 0) throw new Error(`${key}:${value}: there are ${lists[key].filter(Boolean).join(", ")}`);
    return (row) => row.get(key) === code;
  }
  const labelled = ["SUP", "DP0", "DP1", "F_DP0", "F_DP1"], tagOf = (row) => terms.tagName(row.term().tag);
  if (key === "tag") return (row) => tagOf(row) === value.toUpperCase() || (value.toUpperCase() === "CTR" && terms.isConstructor(row.term().tag));
  if (key === "label") return (row) => labelled.includes(tagOf(row)) && (/^\d+$/.test(value) ? row.term().ext === Number(value) : terms.name(row.term().ext) === value.slice(-4));
  const definition = (row) => (tagOf(row) === "REF" ? row.term().ext : tagOf(row) === "ALO" ? source.definition?.[row.term().ext] : -1);
  if (key === "def" || (key === "name" && value.startsWith("@"))) {
    const id = source.definitions.findIndex(([name]) => name === value.replace(/^@/, ""));
    if (id < 0) throw new Error(`${key}:${value}: the program has no definition of that name`);
    return (row) => definition(row) === id;
  }
  if (key === "name") {
    const bare = value.replace(/^[#%]/, "").toLowerCase();
    return (row) => {
      const { tag, ext } = row.term(), called = terms.tagName(tag);
      if (terms.isConstructor(tag) || called === "MAT") return value.startsWith("#") ? terms.constructor_(ext) === value : !value.startsWith("%") && terms.constructor_(ext).toLowerCase().includes(bare);
      return called === "REF" && !/^[#%]/.test(value) && terms.definition(ext).toLowerCase().includes(bare);
    };
  }
  const [, sign, digits, last] = value.match(/^(>=|<=|>|<|=)?(\d+)(?:\.\.(\d+))?$/) || [];
  if (digits === undefined || (sign && last)) throw new Error(`${key}:${value}: write a number, >3, >=3, <3, <=3, or 3..7`);
  const number = Number(digits), ok = last ? (x) => x >= number && x <= Number(last) : SIGNS[sign] ? (x) => SIGNS[sign](x, number) : (x) => x === number;
  if (key === "region") return (row) => ok(store.region(row.place()));
  if (key === "loc") return (row) => ok(row.get("loc")) || (row.kind !== "c" && row.get("slot") !== 0 && ok(row.get("slot")));
  return (row) => ok(row.get(key));
}

class Search {
  constructor(view) {
    this.view = view;
    this.hits = [];
    this.at = -1;
    this.state = "";
    this.job = 0;
  }

  // Looks through all that is here, a slice at a time, so that the page stays awake; the kernel looks through the rest.
  async run(text) {
    const { view } = this, job = (this.job += 1);
    Object.assign(this, { text, hits: [], at: -1, state: text ? "searching" : "" });
    view.field.value = text;
    view.sync("query", text);
    if (!text.trim()) return this.done(job, "");
    try {
      const { store } = view.main;
      if (store.whole || store.meta.offline) await this.look(job, text);
      else await this.askKernel(job, text);
      if (job !== this.job) return undefined;
      const more = this.hits.length >= 100000 ? " or more" : "", part = store.meta.offline && store.meta.kept ? " in the passes kept" : "";
      this.done(job, `${plural(this.hits.length, "hit")}${more}${part}`);
      if (this.hits.length) this.next(1);
    } catch (error) {
      this.done(job, error.message);
    }
    return undefined;
  }

  cancel() {
    if (this.state !== "searching") return;
    this.job += 1;
    this.done(this.job, `cancelled after ${plural(this.hits.length, "hit")}`);
  }

  done(job, note) {
    if (job !== this.job) return;
    this.state = note ? "done" : "";
    this.note = note;
    this.view.searched();
  }

  async look(job, text) {
    const { store, terms } = this.view.main, { subjects, fits } = parseQuery(text, this.view.main);
    let slice = performance.now(), w, i, word, loc;
    // One row of each kind, moved along: what it says of itself, by the names of the queries.
    const rows = {
      e: { kind: "e", get: (name) => w[name][i], place: () => w.loc[i] },
      d: { kind: "d", get: (name) => (name === "age" ? (w.wait_closed[i] < 0 ? -1 : w.wait_closed[i] - w.wait_opened[i]) : w[`wait_${name}`][i]), place: () => w.wait_loc[i] },
      o: { kind: "o", get: (name) => (name === "loc" || name === "thread" ? w[name][rows.o.event] : w[`op_${name}`][i]), place: () => w.op_slot[i] },
      c: { kind: "c", get: () => loc, place: () => loc, term: () => terms.read(word) },
    };
    const found = (p, cell) => this.hits.push({ p, loc: cell });
    const changed = (p) => !terms.role(loc, word) && fits(rows.c) && found(p, loc);
    if (subjects.includes("c")) {
      for (const each of store.frozen.values()) {
        for (let k = 0; each.p === 0 && k < CHUNK; k += 1) {
          word = [each.words[2 * k], each.words[2 * k + 1]];
          loc = each.k * CHUNK + k;
          if (word[0] || word[1]) changed(0);
        }
      }
    }
    for (const each of store.windows) {
      w = each;
      let wait = 0;
      for (let p = w.p0; p < w.p1; p += 1) {
        const row = p - w.p0;
        for (i = w.event_offsets[row]; subjects.includes("e") && w.loc && i < w.event_offsets[row + 1]; i += 1) if (fits(rows.e)) found(p, w.loc[i]);
        for (; subjects.includes("d") && w.wait_loc && wait < w.wait_loc.length && w.wait_opened[wait] <= p; wait += 1) {
          i = wait;
          if (w.wait_opened[i] === p && fits(rows.d)) found(p, w.wait_loc[i]);
        }
        for (i = w.op_offsets?.[row] ?? 0; subjects.includes("o") && i < w.op_offsets[row + 1]; i += 1) {
          rows.o.event = w.event_offsets[row] + w.op_event[i];
          if (fits(rows.o)) found(p, w.loc[rows.o.event]);
        }
        for (let k = w.delta_offsets?.[row] ?? 0; subjects.includes("c") && k < w.delta_offsets[row + 1]; k += 1) {
          word = [w.delta_after[2 * k], w.delta_after[2 * k + 1]];
          loc = w.delta_cell[k];
          changed(p);
        }
        if (this.hits.length >= 100000) return;
        if (performance.now() - slice > 12) {
          this.progress(p / store.n);
          await new Promise((resolve) => setTimeout(resolve));
          if (job !== this.job) return;
          slice = performance.now();
        }
      }
    }
  }

  async askKernel(job, text) {
    const { store } = this.view.main;
    for (let first = 0; first !== null && job === this.job;) {
      const found = await store.ask({ kind: "search", query: text, first }, "search");
      if (job !== this.job) return;
      for (let i = 0; i < found.pass.length; i += 1) this.hits.push({ p: found.pass[i], loc: found.loc[i] });
      first = this.hits.length >= 100000 ? null : found.next;
      this.progress((this.hits.at(-1)?.p ?? 0) / store.n);
    }
  }

  progress(part) {
    this.note = `searching ${Math.round(100 * part)} %`;
    this.view.searched();
  }

  next(direction) {
    const { hits, view } = this, { p } = view.main;
    if (!hits.length) return;
    if (this.at < 0) this.at = direction > 0 ? lowerBound(hits.map((hit) => hit.p), p) : lowerBound(hits.map((hit) => hit.p), p + 1) - 1;
    else this.at += direction;
    this.at = (this.at + hits.length) % hits.length;
    view.seek(hits[this.at].p);
    view.select(hits[this.at].loc);
    view.searched();
  }

  ticks(side) {
    if (side.index || !this.hits.length) return [];
    if (this.tickOf !== this.hits.length) [this.tickOf, this.tickList] = [this.hits.length, [...new Set(this.hits.map((hit) => hit.p))].slice(0, 4000)];
    return this.tickList;
  }
}

// ---------------------------------------------------------------- The view

const KEYS = [
  ["← →", "one pass"], ["Shift ← →", "ten passes"], ["PgUp PgDn", "a hundred passes"], ["Home End", "first pass, end"], ["Space", "play, pause"],
  [", .", "previous, next deferral"], ["< >", "the same, from this region only"], ["/", "search"], ["n N", "next, previous hit"], ["g", "go to a pass"],
  ["w s", "zoom the overview"], ["a d", "move the overview"], ["Enter", "move a cursor over cells with the arrow keys"], ["1 2 3 4", "cells, regions, net, table"],
  ["+ − 0", "larger, smaller, fit"], ["x", "compare with the pass where x was pressed"], ["c", "show or hide the second trace"], ["b", "bookmark"],
  ["f", "follow the selected task"], ["r", "mark the region of what is selected"], ["e", "export"], ["?", "this list"], ["Esc", "leave"],
];

class View {
  constructor(model, shared, host) {
    Object.assign(this, { model, shared, host });
    const { meta, channel, stores } = shared;
    this.sides = stores.map((store, index) => ({
      index, store, terms: new Terms(store), p: 0, sel: null, name: stores.length > 1 ? "AB"[index] : "", first: shared.first(index),
    }));
    [this.main] = this.sides;
    this.chosen = this.main;
    const kept = shared.kept;
    this.main.p = clamp(model.get("pass_index") ?? 0, 0, this.main.store.n);
    this.main.sel = model.get("selection")?.loc ?? null;
    this.bookmarks = model.get("bookmarks") || [];
    this.region = null;
    this.pins = [];
    this.pin = kept.pin ?? null;
    this.locked = "pass";
    this.playing = false;
    this.follow = false;
    this.cursorMode = false;
    this.marked = null;
    this.small = stores.length > 1;
    this.search = new Search(this);
    this.offs = [];
    this.build(meta);
    this.listen(channel);
    this.setHeap(kept.heap || "cells");
    if (model.get("query")) this.field.value = model.get("query");
    this.said = 0;
  }

  // --- building

  build(meta) {
    const root = (this.root = el("div", "hv-root", "", this.host));
    root.tabIndex = 0;
    root.setAttribute("role", "group");
    voice(root, "Trace view; press ? for the keys");
    root.dataset.lmSuppressShortcuts = "true";
    const theme = this.model.get("theme");
    if (theme === "light" || theme === "dark") root.classList.add(`hv-${theme}`);
    this.theme = new Theme(root, this.model.get("palette"));
    this.theme.read();
    const panels = new Set(this.model.get("panels"));
    this.head = el("header", "hv-head", "", root);
    for (const [index, store] of this.shared.stores.entries()) this.chips(store, this.sides[index].name);
    this.badge = el("span", "hv-chip hv-warn", "", this.head);
    this.badge.hidden = true;
    button(this.head, "?", "Keys (?)", () => this.help(), "hv-small");
    for (const side of this.sides) this.answer(side, root);
    this.banner = el("div", "hv-banner", "", root);
    this.banner.hidden = true;
    this.source = new Source(this, root);
    const body = el("div", "hv-body", "", root), left = el("div", "hv-left", "", body), right = el("div", "hv-right", "", body);
    this.left = left;
    this.overviews = this.sides.map((side) => new Overview(this, left, side));
    const heaps = (this.heaps = el("div", "hv-heaps", "", left));
    this.panes = this.sides.map((side) => new Heap(this, heaps, side));
    [this.heap] = this.panes;
    this.transport(left);
    this.inspector = new Inspector(this, right);
    this.events = new Events(this, right);
    for (const overview of this.overviews) overview.box.hidden = !panels.has("overview");
    heaps.hidden = !panels.has("heap");
    this.inspector.box.hidden = !panels.has("inspector");
    this.events.box.hidden = !panels.has("events");
    right.hidden = !panels.has("inspector") && !panels.has("events");
    this.live = el("div", "hv-live", "", root);
    this.live.setAttribute("aria-live", "polite");
    this.dialog = el("dialog", "hv-dialog", "", root);
    root.dataset.pair = String(this.sides.length > 1);
    root.style.setProperty("--hv-height", `${this.model.get("height")}px`);
    if (meta.n_passes > 0 && this.sides.length > 1) this.compareBar(left);
  }

  chips(store, name) {
    const { meta } = store;
    const chip = (text, title = "", look = "") => {
      const node = el("span", `hv-chip ${look}`, visible(text), this.head);
      if (title) node.title = visible(title);
      return node;
    };
    if (name) chip(name, "", "hv-name");
    chip(meta.status.replace("_", " "), meta.message, meta.status === "done" ? "hv-good" : "hv-bad");
    chip(plural(meta.n_passes, "pass", "passes"));
    chip(plural(meta.interactions, "interaction"));
    chip(plural(meta.deferrals, "deferral"));
    chip(meta.device, meta.device_reason);
    this.digestOf = () => meta.digest && (digest.textContent = `digest ${meta.digest.slice(0, 4)}`);
    const digest = chip(meta.digest_later ? "digest …" : meta.digest ? `digest ${meta.digest.slice(0, 4)}` : "no digest", meta.digest ? "click copies all of it" : meta.no_digest);
    hear(digest, "click", () => meta.digest && this.copy(meta.digest));
    if (!meta.ordered) chip("not order-stable", "events depend on timing under these settings: the digest covers results alone", "hv-warn");
    if (meta.dropped) chip("cut trace", store.uncut(), "hv-warn");
    if (meta.kept) chip("part of a trace", `this page holds passes ${meta.kept[0]} to ${meta.kept[1] - 1}, and the counters of all`, "hv-warn");
    if (meta.state !== "complete" && meta.status === "done") chip(meta.state, meta.note, "hv-warn");
  }

  // The result lines, and what ended the run if it did not end well.
  answer({ store: { meta }, name }, parent) {
    if (meta.answer) {
      const box = el("pre", "hv-answer", `${name ? `${name}: ` : ""}${meta.answer}`, parent);
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      voice(box, `Result ${name}`);
    }
    if (meta.message) el("pre", "hv-answer hv-wrong", meta.message, parent);
  }

  transport(parent) {
    const bar = el("div", "hv-transport", "", parent), row = el("div", "hv-controls", "", bar);
    button(row, "|‹", "First pass (Home)", () => this.seek(0));
    button(row, "‹", "One pass back (←)", () => this.step(-1));
    this.playButton = button(row, "▶", "Play (Space)", () => this.play());
    button(row, "›", "One pass on (→)", () => this.step(1));
    button(row, "›|", "The end (End)", () => this.seek(this.main.store.n));
    const wrap = el("div", "hv-slide", "", row);
    this.slider = el("input", "hv-slider", "", wrap);
    Object.assign(this.slider, { type: "range", min: "0", max: String(this.main.store.n), step: "1", value: "0" });
    voice(this.slider, "Pass");
    this.slider.disabled = !this.main.store.n;
    hear(this.slider, "input", () => this.seek(Number(this.slider.value)));
    this.strip = el("canvas", "hv-strip", "", wrap);
    this.strip.setAttribute("aria-hidden", "true");
    this.readout = el("span", "hv-readout", "", row);
    const tools = el("div", "hv-controls hv-tools", "", bar);
    this.ratePick = choice(tools, "Passes a second", [1, 2, 4, 8, 16, 30, 60].map((rate) => [String(rate), `${rate}/s`]), (rate) => this.setRate(Number(rate)));
    button(tools, "‹ deferral", "Previous deferral (,)", () => this.deferral(-1));
    button(tools, "deferral ›", "Next deferral (.)", () => this.deferral(1));
    this.field = el("input", "hv-field", "", tools);
    Object.assign(this.field, { type: "search", placeholder: "/ search: outcome:deferred age:>3 tag:DP0 Pair", spellcheck: false });
    voice(this.field, "Search");
    hear(this.field, "keydown", (event) => {
      if (event.key === "Enter") this.search.run(this.field.value);
      if (event.key === "Escape") this.search.state === "searching" ? this.search.cancel() : this.root.focus();
      event.stopPropagation();
    });
    this.hitNote = el("span", "hv-note hv-hits", "", tools);
    this.diffButton = button(tools, "x diff", "Compare with this pass (x)", () => this.diff());
    button(tools, "bookmark", "Bookmark (b)", () => this.bookmark());
    this.markPick = choice(tools, "Bookmarks", [], (k) => this.toBookmark(Number(k)));
    button(tools, "export", "Export (e)", () => this.exports());
    this.passField = el("input", "hv-pass", "", tools);
    Object.assign(this.passField, { type: "number", min: "0", max: String(this.main.store.n), hidden: true });
    voice(this.passField, "Go to pass");
    hear(this.passField, "keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Enter" && this.passField.value !== "") this.seek(Number(this.passField.value));
      this.passField.hidden = true;
      this.root.focus();
    });
    this.listBookmarks();
    this.setRate(this.model.get("rate") || 4);
  }

  compareBar(parent) {
    const bar = el("div", "hv-controls hv-compare", "", parent), { difference } = this.shared.meta;
    el("span", "hv-title", "A and B", bar);
    choice(bar, "How the two playheads go together", [["pass", "same pass"], ["work", "same work"], ["free", "free"]], (how) => {
      this.locked = how;
      this.other.disabled = how !== "free";
      this.align();
      this.update();
    });
    this.other = el("input", "hv-slider", "", bar);
    Object.assign(this.other, { type: "range", min: "0", max: String(this.sides[1].store.n), value: "0", disabled: true });
    voice(this.other, "Pass of B");
    hear(this.other, "input", () => this.seek(Number(this.other.value), this.sides[1]));
    this.otherNote = el("span", "hv-readout", "", bar);
    if (difference) button(bar, `first difference: pass ${difference.pass}`, difference.text, () => (this.seek(difference.pass), this.select(difference.loc), this.say(difference.text)));
    else el("span", "hv-note", "no difference", bar);
  }

  listen(channel) {
    const { root, model } = this;
    hear(root, "keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(this.host);
    const themed = new MutationObserver(() => this.retheme());
    for (const node of [document.body, document.documentElement]) themed.observe(node, { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"] });
    const dark = window.matchMedia("(prefers-color-scheme: dark)"), turned = () => this.retheme();
    hear(dark, "change", turned);
    this.reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
    // The last word holds: what Python says is not undone by what was said here before and has not gone out yet.
    const on = (name, act) => {
      const heard = () => (delete this.unsent?.[name], act());
      model.on(`change:${name}`, heard);
      this.offs.push(() => model.off(`change:${name}`, heard));
    };
    on("pass_index", () => this.seek(model.get("pass_index"), this.main, { quiet: true }));
    on("selection", () => {
      const loc = model.get("selection")?.loc ?? null;
      if (loc !== this.main.sel) this.select(loc, this.main, { quiet: true });
    });
    on("playing", () => model.get("playing") !== this.playing && this.play(model.get("playing")));
    on("rate", () => this.setRate(model.get("rate")));
    on("query", () => model.get("query") !== (this.search.text ?? "") && this.search.run(model.get("query")));
    on("bookmarks", () => ((this.bookmarks = model.get("bookmarks") || []), this.listBookmarks(), this.update()));
    this.offs.push(() => themed.disconnect(), () => this.observer.disconnect(), () => dark.removeEventListener("change", turned), this.shared.onChange((what) => this.arrived(what)));
    this.channel = channel;
  }

  close() {
    this.play(false);
    Object.assign(this.shared.kept, { heap: this.heap.kind, pin: this.pin });
    clearTimeout(this.syncTimer);
    this.flush();
    for (const off of this.offs) off();
    this.root.remove();
    this.closed = true;
  }

  // --- layout and drawing

  layout() {
    const width = this.host.clientWidth;
    if (!width || this.closed) return;
    this.root.dataset.narrow = String(width < 900);
    this.theme.read();
    this.events.list.measure();
    this.stripWide = this.strip.clientWidth;
    for (const overview of this.overviews) if (!overview.box.hidden) overview.resize(overview.box.clientWidth);
    for (const pane of this.panes) {
      if (this.heaps.hidden || pane.box.hidden) continue;
      pane.list.measure();
      pane.resize(pane.scroll.clientWidth || pane.box.clientWidth, pane.scroll.hidden ? 200 : Math.max(pane.scroll.clientHeight, 80));
    }
    this.update();
  }

  retheme() {
    if (this.closed || !this.theme.read()) return;
    for (const overview of this.overviews) overview.image = null;
    this.update();
  }

  // Draws everything again, at most once a frame: right after the event at hand, unless this frame has been drawn already.
  update() {
    if (this.drawing || this.closed) return;
    this.drawing = true;
    const draw = () => {
      this.drawing = false;
      if (this.closed) return;
      this.drawn = true;
      requestAnimationFrame(() => (this.drawn = false));
      this.draw();
    };
    if (this.drawn) requestAnimationFrame(draw);
    else queueMicrotask(draw);
  }

  draw() {
    const begun = performance.now(), { store, p } = this.main;
    for (const [i, overview] of this.overviews.entries()) {
      if (overview.box.hidden) continue;
      if (i === 0 || this.sides[i]) overview.draw();
    }
    for (const pane of this.panes) if (!this.heaps.hidden && !pane.box.hidden) pane.refresh();
    if (!this.inspector.box.hidden) this.inspector.draw();
    if (!this.events.box.hidden) this.events.refresh();
    this.slider.value = String(p);
    const text = this.readable();
    this.slider.setAttribute("aria-valuetext", text);
    this.readout.textContent = text;
    if (this.other) {
      this.other.value = String(this.sides[1].p);
      this.otherNote.textContent = `B: pass ${count(this.sides[1].p)} of ${count(this.sides[1].store.n)}`;
    }
    this.drawStrip();
    this.watch();
    this.speak(text);
    if (this.pendingDeferral) this.pickDeferral();
    this.drawMs = performance.now() - begun;
    this.mirror();
    clearTimeout(this.ahead);       // at rest, and with all that this pass needs, look ahead
    if (!store.whole && store.isCached(p)) this.ahead = setTimeout(() => store.prefetch(this.main.p, this.direction || 1), 120);
  }

  readable() {
    const { store, p } = this.main;
    if (!store.n) return "0 passes: nothing was run";
    const deferred = store.counters?.deferred[p] ?? 0;
    return p >= store.n ? `the end, after ${plural(store.n, "pass", "passes")}` : `pass ${count(p)} of ${count(store.n)}, ${plural(deferred, "deferral")}`;
  }

  // Below the slider: what is not here, where hits and bookmarks are, and where the recording ends.
  drawStrip() {
    const { strip, main: { store } } = this, wide = this.stripWide;
    const key = [wide, ratio(), store.version, this.theme.key, this.search.job, this.search.hits.length, this.bookmarks.length].join();
    if (!wide || !store.n || this.stripKey === key) return;
    this.stripKey = key;
    fitCanvas(strip, wide, 8);
    const pen = penOf(strip), inset = 8, x = (p) => inset + (p / store.n) * (wide - 2 * inset), { cuts, meta: { kept } } = store;
    const missing = kept ? [[0, kept[0]], [kept[1], store.n]]
      : (cuts || []).map((p, k) => [p, cuts[k + 1] ?? store.n]).filter(([p]) => !store.isCached(p));
    pen.fillStyle = this.theme.quiet;
    for (const [a, b] of missing) {
      for (let at = x(a); at < x(b); at += 4) pen.fillRect(at, 0, Math.min(2, x(b) - at), 5);
    }
    pen.fillStyle = this.theme.hit;
    for (const p of this.search.ticks(this.main)) pen.fillRect(x(p) - 0.5, 0, 1.5, 7);
    pen.fillStyle = this.theme.subText;
    for (const mark of this.bookmarks) pen.fillRect(x(mark.pass) - 1.5, 0, 3, 8);
    if (store.meta.status !== "done") {
      pen.fillStyle = this.theme.errorText;
      pen.fillRect(x(store.n) - 1, 0, 4, 8);
    }
  }

  // What a reader has to know now: no progress, why the run stopped, what is missing.
  watch() {
    const { store, p } = this.main, { meta } = store, say = [];
    let act = null, label = "Go there";
    const told = !meta.dropped || p < meta.events_until;       // after the cut, nobody knows who still waits
    const oldest = told ? store.waits(p).reduce((a, b) => (a && a.opened <= b.opened ? a : b), null) : null;
    if (store.heavy) {
      say.push(`its ${count(meta.n_cells)} cells take up to ${(CELL_BYTES * meta.n_cells / 2 ** 30).toFixed(1)} GiB of the browser's memory: load anyway`);
      [act, label] = [() => store.loadAnyway(), "Load the cells"];
    } else if (store.counters?.again[p] || (p > 0 && p < store.n && store.counters?.again[p - 1])) {
      let first = p;
      while (first > 0 && store.counters.again[first]) first -= 1;
      say.push(`no progress since pass ${count(first)}: the same frontier again`);
      act = () => this.seek(first);
    } else if (oldest && p - oldest.opened > STALL_AGE) {
      say.push(`the task of cell ${oldest.loc} has waited ${plural(p - oldest.opened, "pass", "passes")} for slot ${oldest.slot}, since pass ${count(oldest.opened)}`);
      act = () => (this.seek(oldest.opened), this.select(oldest.loc));
    }
    if (meta.status !== "done" && p >= store.n) say.push(`the recording ends here: ${meta.status.replace("_", " ")}`);
    else if (!told && p < store.n) say.push(store.uncut());
    const failure = [...store.failed.values()][0];
    if (failure && this.channel.state !== "gone") say.push(failure);
    const text = visible(say.join("; "));
    if (this.banner.dataset.text !== text) {
      this.banner.dataset.text = text;
      this.banner.replaceChildren();
      if (act) button(this.banner, text, label, () => this.bannerAct?.(), "hv-link");
      else this.banner.textContent = text;
    }
    this.bannerAct = act;
    this.banner.hidden = !text;
    const states = { busy: "kernel busy: cached passes only", gone: "kernel gone: re-run the cell to load more" };
    this.badge.textContent = states[this.channel.state] || "";
    this.badge.hidden = !this.badge.textContent;
  }

  speak(text) {
    const now = performance.now();
    clearTimeout(this.sayTimer);
    if (now - this.said > 1000) {
      this.said = now;
      this.live.textContent = text;
    } else {
      this.sayTimer = setTimeout(() => !this.closed && (this.live.textContent = text), 1000);
    }
  }

  say(text) {
    this.said = 0;
    this.speak(text);
    retell(this.hitNote, text);
  }

  // State for tests and for whoever scripts a page.
  mirror() {
    const { main, search, heap, root } = this, { store } = main, range = this.overviews[0].range;
    const facts = {
      pass: main.p, passes: store.n, selection: main.sel ?? "", heap: heap.kind, mode: heap.kind === "cells" ? heap.mode || "" : "", cells: heap.grid.n,
      zoom: heap.zoomed, playing: this.playing, rate: this.rate, hits: search.hits.length, hit: search.at, query: search.text || "", search: search.state,
      diff: this.pin ?? "", pins: this.pins.join(), changed: heap.grid.diff ? heap.grid.n - heap.grid.diff.totals[0] : "", compare: this.sides.length > 1 && !this.panes[1].box.hidden,
      passB: this.sides[1]?.p ?? "", bookmarks: this.bookmarks.length, follow: this.follow, cursor: this.cursorMode, events: this.events.rows.length,
      range: `${range.p0}-${range.p1}`, regions: `${range.r0}-${range.r1}`, asked: this.channel.asked, answered: this.channel.answered, link: this.channel.state,
      loaded: `${store.windows.length}/${store.cuts?.length ?? 0}`, measure: this.overviews[0].what, moves: heap.moves || 0, ready: !!store.counters && (!store.meta.n_events || !!store.seen || store.heavy) && (store.isCached(main.p) || !store.n),
      draw: (this.drawMs || 0).toFixed(1), step: (heap.stepMs || 0).toFixed(2), complete: !!heap.grid.complete || !heap.grid.n,
    };
    for (const [name, value] of Object.entries(facts)) if (root.dataset[name] !== String(value)) root.dataset[name] = String(value);
  }

  arrived(what) {
    if (this.closed) return;
    if (what === "source") this.source.fill();
    if (what === "counters" || what === "triples") for (const overview of this.overviews) overview.refresh();
    for (const pane of this.panes) pane.tableRows = null;
    if (what === "counters") this.align();
    if (what === "digest") this.digestOf();
    this.update();
  }

  // --- what the hand does

  focus() {
    if (!this.hasFocus()) this.root.focus({ preventScroll: true });
  }

  hasFocus() {
    return this.root.contains(this.root.getRootNode().activeElement);
  }

  paneOf(side) {
    return this.panes[side.index];
  }

  // Regions whose cells are drawn: those of the overview's range; of a very large heap only its first ones.
  regionRange(side) {
    const { range, store } = this.overviews[side.index], all = range.r0 === 0 && range.r1 >= (side.first?.r1 || 0);
    return all ? { r0: 0, r1: Math.max(store.meta.n_regions, 1) } : range;
  }

  rangeChanged() {
    this.update();
  }

  seek(p, side = this.main, { quiet = false } = {}) {
    if (!Number.isFinite(p)) return;
    const to = clamp(Math.round(p), 0, side.store.n), from = side.p;
    if (to === from) return;
    side.p = to;
    this.pendingDeferral = null;
    side.store.window(to);
    this.direction = to > from ? 1 : -1;
    if (side === this.main) {
      this.align();
      if (this.follow) this.followTask(from, to);
      if (!quiet) this.sync("pass_index", to);
    }
    const calm = this.reduced.matches || (this.playing && this.rate > MOTION_RATE_MAX);
    if (Math.abs(to - from) === 1 && !calm && side.store.isCached(Math.min(from, to))) this.paneOf(side).animate(Math.min(from, to), to < from);
    this.update();
  }

  step(by) {
    this.seek(this.main.p + by);
  }

  align() {
    if (this.sides.length < 2 || this.locked === "free") return;
    const [a, b] = this.sides;
    b.p = b.store.aligned(a.store, a.p, this.locked);
  }

  select(loc, side = this.main, { quiet = false } = {}) {
    this.chosen = side;
    side.sel = loc === null || loc < 0 ? null : loc;
    if (side === this.main && !quiet) this.sync("selection", side.sel === null ? null : { loc: side.sel });
    const pane = this.paneOf(side);
    if (side.sel !== null) pane.reveal(pane.grid.index(side.sel));
    const span = this.spanOf(side.sel, side);
    this.source.mark(span);
    this.update();
  }

  selectRegion(region, side) {
    this.chosen = side;
    this.region = region;
    side.sel = null;
    this.pinRegion(region);
  }

  pinRegion(region) {
    if (region === null) return this.say("no cell or region is selected");
    this.pins = this.pins.includes(region) ? this.pins.filter((each) => each !== region) : [...this.pins, region].slice(-8);
    this.say(`region ${region} is ${this.pins.includes(region) ? "marked" : "not marked"}`);
    return this.update();
  }

  regionChosen() {
    const { sel, store } = this.chosen;
    return sel === null ? this.region : store.region(sel);
  }

  spanOf(loc, side) {
    if (loc === null || !side.store.full) return null;
    const word = side.store.word(loc, side.p), here = word && side.terms.span(word);
    if (here) return here;
    // A cell that a closure became keeps the closure's place.
    const life = this.inspector.life({ ...side, sel: loc }).filter((each) => each.order === 3 && each.p < side.p);
    for (const each of life.reverse()) {
      const w = side.store.window(each.p, { want: false });
      for (let i = w ? w.delta_offsets[each.p - w.p0] : 0; w && i < w.delta_offsets[each.p - w.p0 + 1]; i += 1) {
        const span = w.delta_cell[i] === loc && side.terms.span([w.delta_before[2 * i], w.delta_before[2 * i + 1]]);
        if (span) return span;
      }
    }
    return null;
  }

  // Source to heap: cells whose word belongs to a definition.
  markDefinition(id) {
    this.marked = id;
    this.update();
  }

  // Heap to source: the stretch that a cell comes from.
  mark(span) {
    const key = span ? `${span.file}:${span.start}` : "";
    if (this.markKey === key) return;
    this.markKey = key;
    this.source.mark(span || this.spanOf(this.main.sel, this.main));
  }

  markedCells(side) {
    const found = new Set(), { grid } = this.paneOf(side);
    if (this.marked === null || !side.store.full || grid.n > TILES_MAX) return found;
    for (let i = 0; i < grid.n; i += 1) {
      const word = grid.status[i] ? side.store.word(grid.cells[i], side.p) : null;
      if (word && side.terms.span(word)?.definition === this.marked) found.add(i);
    }
    return found;
  }

  setHeap(kind) {
    for (const pane of this.panes) pane.setKind(kind);
    this.layout();
  }

  play(wish = !this.playing) {
    if (wish === this.playing || (wish && !this.main.store.n)) return;
    this.playing = wish;
    this.playButton.textContent = wish ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-pressed", String(wish));
    this.sync("playing", wish);
    if (!wish) return this.update();
    if (this.main.p >= this.main.store.n) this.seek(0);
    let last = performance.now();
    const tick = (now) => {
      if (!this.playing || this.closed) return;
      const due = Math.floor(((now - last) * this.rate) / 1000);
      if (due > 0) {
        last += (due * 1000) / this.rate;
        const to = Math.min(this.main.p + due, this.main.store.n);
        if (this.main.store.isCached(to)) this.seek(to);
        else this.main.store.window(to);
        if (this.main.p >= this.main.store.n) this.play(false);
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    return this.update();
  }

  setRate(rate) {
    this.rate = clamp(Number(rate) || 4, 0.25, 240);
    if (![...this.ratePick.options].some((option) => Number(option.value) === this.rate)) el("option", "", `${this.rate}/s`, this.ratePick).value = String(this.rate);
    this.ratePick.value = String(this.rate);
    this.sync("rate", this.rate);
    this.update();
  }

  // --- deferrals

  async deferral(direction, sameRegion = false) {
    const { store, p, sel } = this.main, counts = store.counters?.deferred;
    if (!counts) return;
    const region = sameRegion && sel !== null ? store.region(sel) : null;
    const here = this.deferredAt(p, region), at = here.indexOf(sel);
    if (at >= 0 && here[at + direction] !== undefined) return this.select(here[at + direction]);
    if (at < 0 && direction > 0 && here.length && sel === null) return this.select(here[0]);
    let to = p + direction;
    if (region !== null) {
      if (!store.triples.has("deferrals")) await store.get({ kind: "triples", what: "deferrals" });
      const triples = store.triples.get("deferrals"), passes = [];
      for (let i = 0; i < (triples?.pass.length ?? 0); i += 1) if (triples.region[i] === region) passes.push(triples.pass[i]);
      to = direction > 0 ? passes.find((each) => each > p) ?? -1 : passes.reverse().find((each) => each < p) ?? -1;
    } else {
      while (to >= 0 && to < store.n && !counts[to]) to += direction;
    }
    if (to < 0 || to >= store.n) return this.say(`no ${direction > 0 ? "later" : "earlier"} deferral${region === null ? "" : ` in region ${region}`}`);
    this.seek(to);
    this.pendingDeferral = { direction, region };
    return this.pickDeferral();
  }

  deferredAt(p, region) {
    const { store } = this.main;
    return this.heap.deferred(p).map(({ loc }) => loc).filter((loc) => region === null || store.region(loc) === region);
  }

  pickDeferral() {
    const { direction, region } = this.pendingDeferral, found = this.deferredAt(this.main.p, region);
    if (!found.length) return;
    this.pendingDeferral = null;
    this.select(direction > 0 ? found[0] : found[found.length - 1]);
  }

  // Keeps to a task: once it is done, to the first entry among the cells it points to.
  followTask(from, to) {
    const { store, terms, sel } = this.main;
    if (sel === null || to !== from + 1) return;
    const events = store.events(to), locs = events ? new Set(events.w.loc.subarray(events.lo, events.hi)) : null, word = store.word(sel, to);
    const next = locs && !locs.has(sel) && word ? terms.targets(word, sel).find((cell) => locs.has(cell)) : undefined;
    this.select(next ?? sel);
  }

  // --- diff, bookmarks, help, export

  diff() {
    this.pin = this.pin === null ? this.main.p : null;
    this.diffButton.setAttribute("aria-pressed", String(this.pin !== null));
    this.diffButton.textContent = this.pin === null ? "x diff" : `x diff from ${this.pin}`;
    name_(this.diffButton, this.diffButton.textContent, "Compare with this pass (x)");
    this.say(this.pin === null ? "no comparison" : `pass ${this.pin} is pinned`);
    this.update();
  }

  compare() {
    if (this.sides.length < 2) return this.say("no second trace: view(compare=other)");
    for (const part of [this.panes[1].box, this.overviews[1].box]) part.hidden = !part.hidden;
    return this.layout();
  }

  bookmark(note = "") {
    const { range } = this.overviews[0];
    const mark = { pass: this.main.p, selection: this.main.sel === null ? null : { loc: this.main.sel }, viewport: { ...range, heap: this.heap.kind, zoom: this.heap.zoomed }, note };
    this.bookmarks = [...this.bookmarks, mark];
    this.sync("bookmarks", this.bookmarks);
    this.listBookmarks();
    this.say(`bookmark ${this.bookmarks.length}: pass ${count(this.main.p)}`);
    this.update();
  }

  listBookmarks() {
    this.markPick.replaceChildren();
    el("option", "", this.bookmarks.length ? "bookmarks" : "no bookmark", this.markPick).value = "";
    this.bookmarks.forEach((mark, k) => {
      el("option", "", visible(`pass ${mark.pass}${mark.note ? `: ${mark.note}` : ""}`), this.markPick).value = String(k);
    });
    this.markPick.hidden = !this.bookmarks.length;
  }

  toBookmark(k) {
    const mark = this.bookmarks[k];
    if (!mark) return;
    const { viewport } = mark;
    if (viewport?.heap) this.setHeap(viewport.heap);
    if (viewport?.zoom) this.heap.zoom(viewport.zoom / this.heap.zoomed);
    if (viewport?.p1) this.overviews[0].zoomTo(viewport);
    this.seek(mark.pass);
    this.select(mark.selection?.loc ?? null);
    this.markPick.value = "";
  }

  open(title) {
    this.dialog.replaceChildren();
    voice(this.dialog, title);
    el("div", "hv-title", title, this.dialog);
    const body = el("div", "", "", this.dialog);
    button(this.dialog, "close", "Close (Esc)", () => this.dialog.close());
    if (!this.dialog.open) this.dialog.showModal();
    return body;
  }

  help() {
    const list = el("dl", "hv-keys", "", this.open("Keys"));
    for (const [key, text] of KEYS) {
      el("dt", "", key, list);
      el("dd", "", text, list);
    }
  }

  exports() {
    const body = this.open("Export");
    const save = (name, blob) => {
      const link = el("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      this.dialog.close();
    };
    const picture = (canvas, name) => canvas.toBlob((blob) => save(`${name}-pass-${this.main.p}.png`, blob));
    button(body, "PNG of the heap", "Save the heap pane as a picture", () => picture(this.heap.canvas, "heap"));
    button(body, "PNG of the overview", "Save the overview as a picture", () => picture(this.overviews[0].canvas, "overview"));
    button(body, "CSV of the listed events", "Save the list of events", () => {
      const lines = ["pass,outcome,cell,thread,home,owner,slot,age,reason,interactions"];
      for (let i = 0; i < Math.min(this.events.rows.length, 1e6); i += 1) lines.push(this.events.row(i).cells.map((text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(","));
      save("events.csv", new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    });
    button(body, "copy link", "Copy what restores pass and selection", () => this.copy(`view.goto(${this.main.p}); view.selection = ${this.main.sel === null ? "None" : `{"loc": ${this.main.sel}}`}`));
    el("p", "hv-muted", "From Python: view.to_html(), view.image(), figures, trace.to_csv()", body);
  }

  copy(text) {
    navigator.clipboard?.writeText(text).then(() => this.say(`copied: ${text.slice(0, 60)}`), () => this.say(text));
    if (this.dialog.open) this.dialog.close();
  }

  searched() {
    const { search } = this, at = search.at >= 0 ? `${count(search.at + 1)} of ` : "";
    retell(this.hitNote, search.note ? visible(`${at}${search.note}`) : "");
    this.update();
  }

  // --- keys

  key(event) {
    const { target } = event, typed = target.matches?.("input:not([type=range]), select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || typed || this.dialog.open) {
      if (typed) event.stopPropagation();
      return;
    }
    const natural = target.matches?.("button, summary, a") && (event.key === "Enter" || event.key === " ");
    if (natural || !this.act(event)) {
      if (natural) event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  act({ key, shiftKey }) {
    const overview = this.overviews[0], far = shiftKey ? 10 : 1, cells = this.cursorMode && this.heap.kind === "cells";
    const moves = {
      ArrowLeft: () => (cells ? this.heap.move(-1, 0) : this.step(-far)), ArrowRight: () => (cells ? this.heap.move(1, 0) : this.step(far)),
      ArrowUp: () => cells && this.heap.move(0, -1), ArrowDown: () => cells && this.heap.move(0, 1),
      PageUp: () => this.step(-100), PageDown: () => this.step(100), Home: () => this.seek(0), End: () => this.seek(this.main.store.n), " ": () => this.play(),
      ",": () => this.deferral(-1), ".": () => this.deferral(1), "<": () => this.deferral(-1, true), ">": () => this.deferral(1, true),
      "/": () => (this.field.focus(), this.field.select()), n: () => this.search.next(1), N: () => this.search.next(-1), g: () => this.goto(),
      w: () => overview.zoom(0.6), s: () => overview.zoom(1 / 0.6), a: () => overview.pan(-0.25), d: () => overview.pan(0.25),
      Enter: () => this.cursor(true), Escape: () => this.leave(), x: () => this.diff(), c: () => this.compare(), b: () => this.bookmark(), f: () => this.setFollow(), r: () => this.pinRegion(this.regionChosen()),
      1: () => this.setHeap("cells"), 2: () => this.setHeap("regions"), 3: () => this.setHeap("net"), 4: () => this.setHeap("table"),
      0: () => (this.heap.fit(), overview.fit()), "+": () => this.heap.zoom(2), "=": () => this.heap.zoom(2), "-": () => this.heap.zoom(0.5), e: () => this.exports(), "?": () => this.help(),
    };
    if (!(key in moves)) return false;
    moves[key]();
    this.update();
    return true;
  }

  goto() {
    this.passField.hidden = false;
    this.passField.value = String(this.main.p);
    this.passField.focus();
    this.passField.select();
  }

  cursor(on) {
    this.cursorMode = on;
    if (on && this.heap.kind !== "cells") this.setHeap("cells");
    if (on && this.main.sel === null && this.heap.grid.n) this.select(this.heap.deferred()[0]?.loc ?? this.heap.grid.cells[0]);
    this.say(on ? "cell cursor: arrow keys move it, Esc leaves" : "");
  }

  setFollow() {
    this.follow = !this.follow;
    this.say(this.follow ? "following the selected task" : "not following");
  }

  leave() {
    if (this.search.state === "searching") this.search.cancel();
    else if (this.cursorMode) this.cursor(false);
    else this.root.getRootNode().activeElement?.blur();
  }

  // --- Python

  // Tells Python, at most ten times a second and always at rest.
  sync(name, value) {
    (this.unsent ||= {})[name] = value;
    const wait = Math.max(100 - (performance.now() - (this.sentAt || 0)), 0);
    if (!this.syncTimer) this.syncTimer = setTimeout(() => this.flush(), wait);
  }

  flush() {
    this.syncTimer = 0;
    this.sentAt = performance.now();
    const { unsent } = this;
    this.unsent = null;
    if (!unsent) return;
    let changed = false;
    for (const [name, value] of Object.entries(unsent)) {
      if (JSON.stringify(this.model.get(name)) === JSON.stringify(value)) continue;
      this.model.set(name, value);
      changed = true;
    }
    if (changed && this.channel.state !== "gone") this.model.save_changes();
  }
}

// ---------------------------------------------------------------- The module

// One widget: `initialize` owns what is known and asked, `render` owns one view of it.
function start() {
  let shared = null;
  const prepare = (model) => {
    if (shared) return shared;
    const listeners = new Set(), changed = (what) => listeners.forEach((each) => each(what));
    const channel = new Channel(model, () => changed("link"));
    const meta = model.get("meta"), metas = meta.other ? [meta, meta.other] : [meta];
    const stores = metas.map((each, side) => new Store(channel, each, side, model.get("cache") / metas.length, changed));
    const first = (index) => {
      const { head, bytes } = { head: model.get("overview_heads")[index], bytes: model.get("overviews")[index] };
      if (!head || !bytes) return null;
      const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return unpack(head, view.slice().buffer);
    };
    const onChange = (act) => (listeners.add(act), () => listeners.delete(act));
    shared = { meta, channel, stores, first, onChange, kept: {} };
    const gone = () => channel.lost();
    model.on("comm_live_update", gone);
    shared.close = () => (model.off("comm_live_update", gone), channel.close());
    for (const store of stores) store.load();
    return shared;
  };
  return {
    initialize({ model }) {
      prepare(model);
      return () => shared?.close();
    },
    render({ model, el: host }) {
      const view = new View(model, prepare(model), host);
      for (const store of shared.stores) if (store.source) view.source.fill();
      view.layout();
      return () => view.close();
    },
  };
}

export default start;
