// @ts-check
/** One decode step, operation by operation: a lane for each group, a bar where each ran. */
import { el, setAttr, setText } from "./dom.mjs"
import { readTheme, sizeCanvas } from "./draw.mjs"
import { keepStages } from "./mount.mjs"
import { CanvasPen, textWidth } from "./pen.mjs"
import { StillPicture, pictureMenu } from "./takeaway.mjs"

const SAVED_FALL = { width: 1040, height: 260 }
const FALL_COLORS = ["weights", "cached", "line"]

/** Lanes and axis in a room. @param {{ width: number, height: number, type: number, labelWidth: number, nLanes: number }} room */
export function waterfallLayout({ width, height, type, labelWidth, nLanes }) {
  const left = Math.min(Math.ceil(labelWidth) + 14, width * 0.42)
  const bottom = Math.round(type * 2)
  const laneHeight = Math.max(14, (height - bottom - 4) / Math.max(1, nLanes))
  return { type, left, top: 4, width, height, chartWidth: Math.max(40, width - left - 10), laneHeight, foot: 4 + laneHeight * nLanes }
}

/** The bar under a place, or null; a hair-thin bar is caught within two pixels.
 * @param {[number, number, number][]} bars start, length, lane @param {number} lane @param {number} ms @param {number} slack */
export function barAt(bars, lane, ms, slack) {
  let best = -1
  let nearest = slack
  bars.forEach(([start, length, own], i) => {
    if (own !== lane) return
    const away = ms < start ? start - ms : Math.max(0, ms - start - length)
    if (away <= nearest) [best, nearest] = [i, away]
  })
  return best < 0 ? null : best
}

export class WaterfallPainter {
  /** @param {any} data @param {Record<string, any>} theme */
  constructor(data, theme) {
    this.data = data
    this.theme = theme
    this.run = { nRows: 1, lastStep: 0 }
  }

  /** @param {{ width: number, height: number }} room */
  layout({ width, height }) {
    const { type, sans } = this.theme
    const widest = Math.max(0, ...this.data.lanes.map((/** @type {any} */ lane) => textWidth(lane.label, { size: type, family: sans, fill: "" })))
    return waterfallLayout({ width, height, type, labelWidth: widest, nLanes: this.data.lanes.length })
  }

  /** @param {any} pen @param {any} lay @param {number|null} hover */
  paint(pen, lay, hover = null) {
    const { theme, data } = this
    const x = (/** @type {number} */ ms) => lay.left + (lay.chartWidth * ms) / data.axis.max
    const words = { size: lay.type, family: theme.sans, fill: theme.ink }
    const marks = { size: lay.type, family: theme.mono, fill: theme.muted }
    for (const [value, label] of data.axis.ticks) {
      pen.line(x(value), lay.top, x(value), lay.foot, theme.faint, 1)
      pen.text(label, x(value), lay.foot + lay.type, { ...marks, align: value === 0 ? "left" : "center" })
    }
    data.lanes.forEach((/** @type {any} */ lane, /** @type {number} */ i) => {
      const y = lay.top + i * lay.laneHeight
      pen.line(lay.left, y + lay.laneHeight, lay.left + lay.chartWidth, y + lay.laneHeight, theme.faint, 1)
      pen.text(lane.label, 0, y + lay.laneHeight / 2, words)
    })
    data.bars.forEach(([start, length, lane], /** @type {number} */ i) => {
      const y = lay.top + lane * lay.laneHeight
      const color = i === hover ? theme.new : theme[data.lanes[lane].color]
      pen.rect(x(start), y + lay.laneHeight * 0.18, Math.max(1, (lay.chartWidth * length) / data.axis.max - 0.5), lay.laneHeight * 0.64, color)
    })
  }

  /** @param {any} lay @param {number} px @param {number} py */
  hit(lay, px, py) {
    const lane = Math.floor((py - lay.top) / lay.laneHeight)
    const perPixel = this.data.axis.max / lay.chartWidth
    return px < lay.left ? null : barAt(this.data.bars, lane, (px - lay.left) * perPixel, 2 * perPixel)
  }
}

class WaterfallStage {
  /** @param {any} parent a ShadowRoot */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    /** @type {number|null} */
    this.hover = null
    this.raf = 0
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }))
    this.picture = el("div", { class: "onr-fall" }, this.canvas)
    this.said = el("p", { class: "onr-note" })
    const tools = el("div", { class: "onr-extras" })
    pictureMenu(tools, () => this.frameNow(), () => "decode step", signal)
    this.root.replaceChildren(el("div", { class: "onr-stage" }, this.picture, el("div", { class: "onr-fall-foot" }, this.said, tools)))
    this.canvas.addEventListener("pointermove", (event) => this.point(event), { signal })
    const observer = new ResizeObserver(() => this.schedule())
    observer.observe(this.picture)
    signal.addEventListener("abort", () => observer.disconnect())
  }

  /** @param {any} component */
  update({ data }) {
    this.data = data
    this.root.classList.toggle("onr-lecture", Boolean(data.lecture))
    this.theme = readTheme(this.root)
    const style = getComputedStyle(this.root)
    for (const name of FALL_COLORS) this.theme[name] = style.getPropertyValue(`--onr-${name}`).trim()
    setAttr(this.canvas, "aria-label", data.caption)
    setText(this.said, data.caption)
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
    if (!this.data || width < 40) return
    const dpr = devicePixelRatio || 1
    sizeCanvas(this.canvas, width, height, dpr)
    const pen = new CanvasPen(/** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), dpr)
    pen.erase(0, 0, width, height)
    this.painter = new WaterfallPainter(this.data, this.theme)
    this.lay = this.painter.layout({ width, height })
    this.painter.paint(pen, this.lay, this.hover)
  }

  frameNow() {
    return { painters: [new StillPicture(new WaterfallPainter(this.data, this.theme), SAVED_FALL)], titles: [this.data.title], caption: this.data.caption, step: 0, ms: 0, theme: this.theme }
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!this.painter || !this.lay) return
    const box = this.canvas.getBoundingClientRect()
    const hover = this.painter.hit(this.lay, event.clientX - box.left, event.clientY - box.top)
    if (hover === this.hover) return
    this.hover = hover
    setText(this.said, hover === null ? this.data.caption : this.data.texts[hover])
    this.schedule()
  }

  dispose() {
    cancelAnimationFrame(this.raf)
    this.control.abort()
  }
}

/** Component entry. */
export const mountWaterfall = keepStages((parent) => new WaterfallStage(parent))
export default mountWaterfall
