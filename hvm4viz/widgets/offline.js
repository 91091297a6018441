// The host of a page without a kernel: plays the notebook's part for the view above, with all answers in the page.

const PAGE = JSON.parse(document.getElementById("hv-data").textContent);

async function inflate(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

class OfflineModel {
  constructor(state) {
    this.state = state;
    this.acts = new Map();
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    this.state[name] = value;
  }

  save_changes() {}

  on(name, act) {
    if (!this.acts.has(name)) this.acts.set(name, new Set());
    this.acts.get(name).add(act);
  }

  off(name, act) {
    this.acts.get(name)?.delete(act);
  }

  // Answers are ordered as service.whole makes them; whatever is asked for beyond them is not in the page.
  send(asked) {
    const fits = (each) => each.t === asked.t && each.kind === asked.kind && ["what", "p0", "p1"].every((name) => each[name] === undefined || asked[name] === undefined || each[name] === asked[name]);
    const found = PAGE.frames.find(fits);
    const answer = async () => {
      const bytes = found ? await inflate(found.data) : new ArrayBuffer(0);
      const head = found ? { ...found.head, id: asked.id, parts: 1 } : { id: asked.id, error: "not in this page: open the trace with hvm4viz to see it" };
      for (const act of this.acts.get("msg:custom") || []) act(head, found ? [bytes] : []);
    };
    answer();
  }
}

const place = document.getElementById("hv-here");
try {
  const overviews = await Promise.all(PAGE.overviews.map((text) => (text ? inflate(text) : null)));
  const model = new OfflineModel({ ...PAGE.state, overviews });
  const widget = start();
  widget.initialize({ model });
  place.replaceChildren();
  widget.render({ model, el: place });
} catch (error) {
  place.textContent = `the view could not start: ${error.message}`;
}
