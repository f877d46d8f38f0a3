// @ts-check
/** "Feel it": one text appearing at several latencies at once. What is on screen follows from the time alone. */
import { el, setAttr, setText } from "./dom.mjs"
import { readTheme } from "./draw.mjs"
import { keepStages } from "./mount.mjs"

/** A frame never jumps further than this, so a sleeping tab wakes where it fell asleep. */
const LONGEST_FRAME_MS = 100

/** How many tokens have appeared at a time. @param {number[]} times rising, in ms @param {number} ms */
export function tokensAt(times, ms) {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle] <= ms) low = middle + 1
    else high = middle
  }
  return low
}

/** What a lane shows at a time: the text so far, and whether it waits, writes or is done.
 * @param {{ times: number[] }} lane @param {string[]} pieces @param {number} ms */
export function laneAt(lane, pieces, ms) {
  const n = Math.min(tokensAt(lane.times, ms), pieces.length)
  const phase = n === 0 ? "waiting" : n < Math.min(lane.times.length, pieces.length) ? "writing" : "done"
  return { n, phase, text: pieces.slice(0, n).join("") }
}

class FeelStage {
  /** @param {any} parent a ShadowRoot */
  constructor(parent) {
    this.control = new AbortController()
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    this.ms = 0
    this.playing = false
    this.raf = 0
    this.last = 0
    this.play = el("button", { type: "button", class: "onr-feel-play", click: () => this.toggle() }, "Play ▶")
    this.restart = el("button", { type: "button", click: () => this.begin() }, "Restart")
    this.scrub = /** @type {HTMLInputElement} */ (el("input", { type: "range", class: "onr-scrub", min: "0", step: "10", "aria-label": "Time" }))
    this.clock = el("span", { class: "onr-counter" })
    this.lanes = el("div", { class: "onr-feel-lanes" })
    const bar = el("div", { class: "onr-bar" }, this.play, this.restart, el("div", { class: "onr-track" }, this.scrub, this.clock))
    this.root.replaceChildren(el("div", { class: "onr-stage" }, bar, this.lanes))
    this.scrub.addEventListener("input", () => {
      this.ms = Number(this.scrub.value)
      this.show()
    }, { signal: this.control.signal })
  }

  /** @param {any} component */
  update({ data }) {
    readTheme(this.root)
    this.root.classList.toggle("onr-lecture", Boolean(data?.lecture))
    const key = JSON.stringify(data)
    if (key === this.key) return
    this.key = key
    this.data = data
    this.scrub.max = String(data.end_ms)
    this.build()
    this.show()
  }

  build() {
    this.texts = this.data.lanes.map(() => el("span"))
    this.states = this.data.lanes.map(() => el("span", { class: "onr-feel-state" }))
    this.lanes.replaceChildren(...this.data.lanes.map((/** @type {any} */ lane, /** @type {number} */ i) =>
      el("section", { class: "onr-feel-lane", "data-role": lane.role },
        el("h3", { class: "onr-h" }, lane.label, el("span", { class: "onr-kind" }, lane.kind)),
        el("p", { class: "onr-beside" }, lane.words),
        el("p", { class: "onr-feel-text" }, this.texts[i], el("i", { class: "onr-feel-cursor" })),
        this.states[i])))
  }

  toggle() {
    if (this.playing) return this.pause()
    if (this.ms >= this.data.end_ms) this.ms = 0
    this.playing = true
    this.last = performance.now()
    this.tick(this.last)
  }

  begin() {
    this.pause()
    this.ms = 0
    this.toggle()
  }

  pause() {
    this.playing = false
    cancelAnimationFrame(this.raf)
    this.show()
  }

  /** @param {number} now */
  tick(now) {
    this.ms = Math.min(this.data.end_ms, this.ms + Math.min(LONGEST_FRAME_MS, Math.max(0, now - this.last)))
    this.last = now
    if (this.ms >= this.data.end_ms) return this.pause()
    this.show()
    this.raf = requestAnimationFrame((next) => this.tick(next))
  }

  /** A frame: everything follows from the data and the time. */
  show() {
    setText(this.play, this.playing ? "Pause ❚❚" : "Play ▶")
    setAttr(this.play, "aria-pressed", String(this.playing))
    setText(this.clock, `${(this.ms / 1000).toFixed(1)} s`)
    this.scrub.value = String(this.ms)
    this.scrub.style.setProperty("--share", String(this.ms / this.data.end_ms))
    const { lanes, pieces } = this.data
    lanes.forEach((/** @type {any} */ lane, /** @type {number} */ i) => {
      const { text, phase } = laneAt(lane, pieces, this.ms)
      setText(this.texts[i], text)
      setText(this.states[i], phase === "waiting" ? (this.ms > 0 ? lane.waiting : "") : phase === "done" ? lane.done : "")
      setAttr(/** @type {Element} */ (this.lanes.children[i]), "data-phase", phase)
    })
  }

  dispose() {
    cancelAnimationFrame(this.raf)
    this.control.abort()
  }
}

/** Component entry. */
export const mountFeel = keepStages((parent) => new FeelStage(parent))
export default mountFeel
