// @ts-check
/** A measured chart that the page draws anew when its result changes: lines, numbers, words, one bar. */
import { el, segmented, setAttr } from "./dom.mjs"
import { readTheme, sizeCanvas } from "./draw.mjs"
import { LinePainter } from "./linechart.mjs"
import { keepStages } from "./mount.mjs"
import { CanvasPen } from "./pen.mjs"
import { StillPicture, pictureMenu } from "./takeaway.mjs"

const SAVED_CURVES = { width: 1040, height: 520 }
const CURVE_COLORS = ["weights", "weights-text", "k"]
const CURVE_SCALES = { linear: "linear", log: "log" }

/** The chart and the scale that are seen: what was chosen, where it exists, else the first.
 * @param {any[]} charts @param {{ view: string, scale: string }} chosen */
export function chosenChart(charts, chosen) {
  const chart = charts.find((one) => one.id === chosen.view) ?? charts[0]
  const scales = Object.keys(chart.scales)
  return { chart, scale: scales.includes(chosen.scale) ? chosen.scale : scales[0] }
}

class CurvesOfLive {
  /** @param {any} parent a ShadowRoot */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    this.chosen = { view: "", scale: "" }
    /** @type {number|null} */
    this.hover = null
    this.raf = 0
    this.build(parent, signal)
    document.fonts?.addEventListener("loadingdone", () => this.data && this.refresh(), { signal })
    const observer = new ResizeObserver(() => this.schedule())
    observer.observe(this.picture)
    signal.addEventListener("abort", () => observer.disconnect())
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    this.views = el("div")
    this.scales = segmented("Scale", Object.entries(CURVE_SCALES), (value) => this.choose("scale", value))
    const tools = el("div", { class: "onr-extras" }, this.views, this.scales.host)
    pictureMenu(tools, () => this.frameNow(), () => this.data.title, signal)
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }))
    this.tip = el("div", { class: "onr-tip", hidden: true })
    this.picture = el("div", { class: "onr-chart" }, this.canvas, this.tip)
    this.tiles = el("dl", { class: "onr-tiles" })
    this.stack = el("div", { class: "onr-live-stack" })
    this.words = el("ul", { class: "onr-live-words" })
    this.root.replaceChildren(el("div", { class: "onr-stage" }, tools,
      el("div", { class: "onr-live-curves" }, this.picture, el("aside", { "aria-label": "Numbers" }, this.tiles, this.stack)), this.words))
    this.canvas.addEventListener("pointermove", (event) => this.point(event), { signal })
    this.canvas.addEventListener("pointerleave", () => this.look(null), { signal })
  }

  /** @param {any} component */
  update({ data }) {
    this.data = data
    this.root.classList.toggle("onr-lecture", Boolean(data.lecture))
    this.viewSwitch = segmented("View", data.charts.map((/** @type {any} */ c) => [c.id, c.label]), (value) => this.choose("view", value))
    this.views.replaceChildren(...(data.charts.length > 1 ? [this.viewSwitch.host] : []))
    this.tiles.replaceChildren(...data.tiles.map((/** @type {any} */ tile) =>
      el("div", { class: "onr-tile" }, el("dt", {}, tile.label, el("span", { class: "onr-kind" }, tile.kind)),
        el("dd", {}, el("span", { class: "onr-value" }, tile.value), el("span", { class: "onr-beside" }, tile.beside)))))
    this.words.replaceChildren(...data.words.map((/** @type {string} */ text) => el("li", {}, text)))
    this.showStack(data.stack ?? [])
    this.refresh()
  }

  /** The last point's bytes as bars, one under the other. @param {any[]} stack */
  showStack(stack) {
    this.stack.hidden = !stack.length
    this.stack.replaceChildren(el("div", { class: "onr-h" }, this.data.stack_title ?? ""), ...stack.map((part) => {
      const bar = el("i", { "data-color": part.color })
      bar.style.width = `${Math.max(0.5, 100 * part.share)}%`
      return el("div", {}, el("strong", {}, part.label), el("span", { class: "onr-beside" }, ` ${part.value}`), el("span", { class: "onr-meter" }, bar))
    }))
  }

  /** @param {"view"|"scale"} name @param {string} value */
  choose(name, value) {
    this.chosen[name] = value
    this.refresh()
  }

  refresh() {
    this.theme = readTheme(this.root)
    const style = getComputedStyle(this.root)
    for (const name of CURVE_COLORS) this.theme[name] = style.getPropertyValue(`--onr-${name}`).trim()
    const { chart, scale } = chosenChart(this.data.charts, this.chosen)
    this.painter = new LinePainter(chart, scale, this.theme)
    this.viewSwitch?.show(chart.id)
    this.scales.show(scale)
    this.scales.host.hidden = Object.keys(chart.scales).length < 2
    setAttr(this.canvas, "aria-label", [this.data.title, ...this.data.words].join(" "))
    this.hover = null
    this.schedule()
  }

  schedule() {
    if (this.raf) return
    this.raf = requestAnimationFrame(() => {
      this.raf = 0
      this.paint()
    })
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.picture
    if (!this.painter || width < 40) return
    const dpr = devicePixelRatio || 1
    sizeCanvas(this.canvas, width, height, dpr)
    const pen = new CanvasPen(/** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), dpr)
    pen.erase(0, 0, width, height)
    this.lay = this.painter.layout({ width, height })
    this.painter.paint(pen, this.lay, this.hover)
  }

  /** @param {number|null} index */
  look(index) {
    if (index === this.hover) return
    this.hover = index
    this.tip.hidden = index === null
    this.schedule()
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!this.lay || !this.painter) return
    const box = this.canvas.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    this.look(this.painter.hit(this.lay, x, y))
    if (this.hover === null) return
    const { title, rows } = this.painter.describe(this.hover)
    this.tip.replaceChildren(el("strong", {}, title), ...rows.map((/** @type {string} */ row) => el("div", {}, row)))
    const left = x + 18 + this.tip.offsetWidth < box.width ? x + 18 : Math.max(0, x - 18 - this.tip.offsetWidth)
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(0, Math.min(y, box.height - this.tip.offsetHeight)))}px)`
  }

  frameNow() {
    return { painters: [new StillPicture(this.painter, SAVED_CURVES)], titles: [this.data.title], caption: this.data.words.join(" "), step: 0, ms: 0, theme: this.theme }
  }

  dispose() {
    cancelAnimationFrame(this.raf)
    this.control.abort()
  }
}

/** Component entry. */
export const mountLiveCurves = keepStages((parent) => new CurvesOfLive(parent))
export default mountLiveCurves
