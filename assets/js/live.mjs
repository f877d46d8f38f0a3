// @ts-check
/** The stage of the live measurement: numbers, latencies and parts, redrawn from what the store is given. */
import { el, setAttr, setText } from "./dom.mjs"
import { readTheme, sizeCanvas } from "./draw.mjs"
import { LatencyPainter } from "./livechart.mjs"
import { keepStages, watchLook } from "./mount.mjs"
import { CanvasPen } from "./pen.mjs"
import { storeGet, storeSubscribe } from "./store.mjs"
import { StillPicture, pictureMenu } from "./takeaway.mjs"

const LIVE_KEY = "live"
const SAVED_LIVE = { width: 1040, height: 520 }
/** Colours of this picture beside those of every stage. */
const LIVE_COLORS = ["weights", "k", "v-text", "cached", "line"]

class LiveStage {
  /** @param {any} parent a ShadowRoot */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    /** @type {any} */
    this.payload = null
    this.raf = 0
    this.build(parent, signal)
    storeSubscribe((key) => key === LIVE_KEY && this.load(), signal)
    watchLook(() => this.retheme(), signal)
    const observer = new ResizeObserver(() => this.schedule())
    observer.observe(this.picture)
    signal.addEventListener("abort", () => observer.disconnect())
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    this.big = el("div", { class: "onr-big" })
    this.numbers = el("dl", { class: "onr-live-tiles" })
    this.queue = el("p", { class: "onr-live-queue", "data-onr": "queue" })
    this.warning = el("p", { class: "onr-live-warning", "data-onr": "warning" })
    const panel = el("aside", { class: "onr-panel", "aria-label": "Numbers" }, this.big, this.numbers, this.warning, this.queue)
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }))
    this.empty = el("p", { class: "onr-live-empty", hidden: true })
    this.tip = el("div", { class: "onr-tip", hidden: true })
    this.picture = el("div", { class: "onr-live-picture" }, this.canvas, this.empty, this.tip)
    this.key = el("ul", { class: "onr-live-key", "aria-label": "Parts of one token's time" })
    this.progress = el("i")
    this.track = el("div", { class: "onr-live-progress", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, this.progress)
    this.caption = el("p", { class: "onr-caption", "data-onr": "caption" })
    this.tools = el("div", { class: "onr-extras" })
    pictureMenu(this.tools, () => this.frameNow(), () => "live latency", signal)
    this.spoken = el("p", { class: "onr-sr", role: "status", "aria-live": "polite" })
    this.meters = el("dl", { class: "onr-live-meters", "aria-label": "Counters of the device" })
    const middle = el("div", { class: "onr-live-middle" }, this.picture, this.key)
    const foot = el("div", { class: "onr-live-foot" }, this.caption, this.tools)
    this.root.replaceChildren(el("div", { class: "onr-stage" },
      el("div", { class: "onr-live-body" }, panel, middle), this.track, foot, this.meters, this.spoken))
    this.canvas.addEventListener("pointermove", (event) => this.point(event), { signal })
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true), { signal })
  }

  /** Streamlit calls this for each change of data or theme. @param {any} component */
  update({ data }) {
    this.root.classList.toggle("onr-lecture", Boolean(data?.lecture))
    this.retheme()
    this.load()
  }

  retheme() {
    const theme = readTheme(this.root)
    if (theme.key === this.theme?.key) return
    const style = getComputedStyle(this.root)
    for (const name of LIVE_COLORS) theme[name] = style.getPropertyValue(`--onr-${name}`).trim()
    this.theme = theme
    this.schedule()
  }

  /** Take the newest figures; the picture is painted with the next frame. */
  load() {
    const next = storeGet(LIVE_KEY)
    if (!next || next === this.payload) return
    if (next.format !== 1) throw new Error(`live payload format must be 1, got ${next.format}`)
    this.payload = next
    this.showNumbers(next)
    this.showMeters(next.meters)
    this.showWords(next)
    this.schedule()
  }

  /** @param {any} payload */
  showNumbers({ big, tiles }) {
    const key = JSON.stringify([big.label, big.kind, big.marks.map((/** @type {any} */ m) => m[0]), tiles.map((/** @type {any} */ t) => [t.id, t.label, t.kind, t.share === null])])
    if (key !== this.numbersKey) {
      this.numbersKey = key
      this.buildNumbers(big, tiles)
    }
    setText(this.bigValue, big.value)
    setText(this.bigUnit, big.unit)
    big.marks.forEach((/** @type {[string, string]} */ [, value], /** @type {number} */ i) => setText(this.marks[i], value))
    tiles.forEach((/** @type {any} */ tile, /** @type {number} */ i) => {
      const { value, beside, meter } = this.tiles[i]
      setText(value, tile.value)
      setText(beside, tile.beside)
      if (meter) meter.style.setProperty("--share", String(Math.min(1, tile.share)))
    })
  }

  /** Elements once a layout; afterwards only their texts change, so nothing flickers. @param {any} big @param {any[]} tiles */
  buildNumbers(big, tiles) {
    this.bigValue = el("span", { class: "onr-big-value", "data-onr": "itl" })
    this.bigUnit = el("span", { class: "onr-big-unit" })
    this.marks = big.marks.map(() => el("dd"))
    const marks = big.marks.map((/** @type {[string, string]} */ [name], /** @type {number} */ i) => el("div", {}, el("dt", {}, name), this.marks[i]))
    this.big.replaceChildren(
      el("div", { class: "onr-big-label" }, big.label, big.kind ? el("span", { class: "onr-kind" }, big.kind) : null),
      el("div", { class: "onr-big-line" }, this.bigValue, this.bigUnit), el("dl", { class: "onr-live-marks" }, ...marks))
    this.tiles = tiles.map((tile) => ({
      value: el("span", { class: "onr-value" }), beside: el("span", { class: "onr-beside" }),
      meter: tile.share === null ? null : el("span", { class: "onr-meter" }, el("i")),
    }))
    this.numbers.replaceChildren(...tiles.map((tile, i) =>
      el("div", { class: "onr-tile", "data-id": tile.id },
        el("dt", {}, tile.label, tile.kind ? el("span", { class: "onr-kind" }, tile.kind) : null),
        el("dd", {}, this.tiles[i].value, this.tiles[i].meter, this.tiles[i].beside))))
  }

  /** Counters one by one: a value, the last value greyed, or why there is none. @param {any[]} meters */
  showMeters(meters) {
    const key = JSON.stringify(meters)
    if (key === this.metersKey) return
    this.metersKey = key
    this.meters.replaceChildren(...meters.map((meter) =>
      el("div", { "data-state": meter.state, title: meter.why }, el("dt", {}, meter.label), el("dd", {}, meter.value))))
  }

  /** @param {any} payload */
  showWords({ state, progress, queue, warning, caption, empty, parts, spoken }) {
    setAttr(this.root, "data-state", state)
    setText(this.caption, caption)
    setText(this.queue, queue)
    setText(this.warning, warning)
    setText(this.empty, empty)
    setText(this.spoken, spoken)
    this.empty.hidden = !empty
    this.track.classList.toggle("onr-idle", progress === null)
    const share = Math.round(100 * (progress?.share ?? 0))
    this.progress.style.width = `${share}%`
    setAttr(this.track, "aria-valuenow", String(share))
    setAttr(this.track, "aria-label", progress?.text ?? "No measurement is running")
    const key = JSON.stringify(parts)
    if (key === this.partsKey) return
    this.partsKey = key
    this.key.replaceChildren(...parts.filter((/** @type {any} */ part) => part.value).reverse().map((/** @type {any} */ part) =>
      el("li", { "data-color": part.color, title: part.how }, el("strong", {}, part.label), ` ${part.value} `, el("span", { class: "onr-kind" }, part.kind))))
  }

  schedule() {
    if (this.raf) return
    this.raf = requestAnimationFrame(() => {
      this.raf = 0
      this.paint()
    })
  }

  /** A frame: everything follows from the payload and the room. */
  paint() {
    const { clientWidth: width, clientHeight: height } = this.picture
    if (!this.payload || width < 40) return
    const dpr = devicePixelRatio || 1
    sizeCanvas(this.canvas, width, height, dpr)
    const pen = new CanvasPen(/** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), dpr)
    pen.erase(0, 0, width, height)
    this.painter = new LatencyPainter(this.payload, this.theme)
    this.lay = this.painter.layout({ width, height })
    if (!this.payload.empty) this.painter.paint(pen, this.lay)
    setAttr(this.canvas, "aria-label", this.payload.caption)
    setAttr(this.root, "data-painted", String(this.payload.n_samples))
  }

  frameNow() {
    const painter = new LatencyPainter(this.payload, this.theme)
    return { painters: [new StillPicture(painter, SAVED_LIVE)], titles: [this.payload.title], caption: this.payload.caption, step: 0, ms: 0, theme: this.theme }
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!this.lay || !this.painter) return
    const box = this.canvas.getBoundingClientRect()
    const x = event.clientX - box.left
    const index = this.painter.hit(this.lay, x, event.clientY - box.top)
    const texts = this.payload.series.texts
    this.tip.hidden = index === null || !texts
    if (index === null || !texts) return
    setText(this.tip, texts[index])
    const left = Math.max(0, Math.min(x + 14, box.width - this.tip.offsetWidth))
    this.tip.style.transform = `translate(${Math.round(left)}px, ${this.lay.top}px)`
  }

  dispose() {
    cancelAnimationFrame(this.raf)
    this.control.abort()
  }
}

/** Component entry. */
export const mountLive = keepStages((parent) => new LiveStage(parent))
export default mountLive
