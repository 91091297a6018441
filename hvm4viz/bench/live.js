// Plays the notebook's part for a view that is measured: questions go to the process that measures, over the loopback.

class MeasuredModel {
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

  async send(asked) {
    const answer = await (await fetch("/answer", { method: "POST", body: JSON.stringify(asked) })).arrayBuffer();
    const length = new DataView(answer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 4, length)));
    for (const act of this.acts.get("msg:custom") || []) act(head, [new DataView(answer, 4 + length)]);
  }
}

const begun = performance.now();
const state = await (await fetch("/state")).json();
state.overviews = state.overviews.map((text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
const widget = start();
const model = new MeasuredModel(state);
widget.initialize({ model });
widget.render({ model, el: document.getElementById("hv-here") });
// What Python sets arrives as changes of the model, all of them before the first is told.
window.kernelSays = (changes) => {
  Object.assign(state, changes);
  for (const name of Object.keys(changes)) model.acts.get(`change:${name}`)?.forEach((act) => act());
};
window.kernelKnows = (name) => model.get(name);
window.lostKernel = () => model.acts.get("comm_live_update")?.forEach((act) => act());
requestAnimationFrame(() => requestAnimationFrame(() => (window.shownMs = performance.now() - begun)));
