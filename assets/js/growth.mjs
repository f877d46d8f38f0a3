// @ts-check
/** The stage of "Cache growth": curve and blocks over one run, its numbers, and the shared transport. */
import { el, segmented, setAttr, setText } from "./dom.mjs"
import { readTheme, sizeCanvas } from "./draw.mjs"
import { GrowthPainter } from "./growthchart.mjs"
import { GrowthPanel } from "./growthpanel.mjs"
import { keepStages, watchLook } from "./mount.mjs"
import { CanvasPen } from "./pen.mjs"
import { STEP_MS, phaseNumber } from "./run.mjs"
import { storeGet, storeSubscribe } from "./store.mjs"
import { Synced } from "./sync.mjs"
import { StillPicture, pictureMenu } from "./takeaway.mjs"
import { Transport } from "./transport.mjs"

const GROWTH_LABEL = "Process next token ▶"
/** Steps asked for at a time, and how long to wait before the sentence says that none came. */
const STEPS_AHEAD = 16
const GROWTH_PATIENCE_MS = 15_000
/** The size of a saved picture, before it is made sharp. */
const SAVED = { width: 1000, height: 580 }

/** Rows to ask for, or 0 where the run cannot grow. @param {any} payload */
export function wantedTokens(payload) {
  const { reason, more } = payload.stop
  if (reason !== "steps" || more === false) return 0
  return payload.n_prompt + payload.steps.length - 1 + STEPS_AHEAD
}

/** Is `next` the same run, perhaps longer? @param {any} prev @param {any} next */
export function continuesGrowth(prev, next) {
  if (!prev || prev.n_prompt !== next.n_prompt) return false
  const shared = Math.min(prev.tokens.length, next.tokens.length)
  return prev.tokens.slice(0, shared).join("\n") === next.tokens.slice(0, shared).join("\n")
}

class GrowthStage {
  /** @param {any} parent a ShadowRoot, or the element of the offline page */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    /** @type {any} */
    this.data = {}
    /** @type {((name: string, value: any) => void)|null} */
    this.send = null
    /** @type {any} */
    this.payload = null
    this.span = new Synced("run")
    this.nonce = /** @type {any} */ (undefined)
    this.asked = { rows: 0, at: 0 }
    this.reports = 0
    this.build(parent, signal)
    storeSubscribe((key) => key === this.data.growth && this.load(), signal)
    watchLook(() => this.retheme(), signal)
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    this.waiting = el("p", { class: "onr-waiting", role: "status" }, "Waiting for the run…")
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }))
    this.tip = el("div", { class: "onr-tip", hidden: true })
    this.picture = el("div", { class: "onr-growth" }, this.canvas, this.tip)
    const panel = el("aside", { class: "onr-panel", "aria-label": "This step" })
    this.body = el("div", { class: "onr-body onr-growth-body" }, this.picture, panel)
    this.foot = el("div", { class: "onr-foot" })
    this.stage = el("div", { class: "onr-stage", hidden: true }, this.body, this.foot)
    this.root.replaceChildren(this.waiting, this.stage)
    this.transport = new Transport(this.foot, {
      label: GROWTH_LABEL, stepMs: STEP_MS, signal,
      paint: (step, ms) => this.paint(step, ms),
      caption: (step) => this.frame(step)?.caption ?? "",
      valueText: (step) => (step === 0 ? "Prefill" : `Step ${step}: ${this.frame(step)?.in_use_text ?? ""}`),
      onStep: (step) => this.emit("step", step),
      wantMore: () => this.wantMore(),
      endSentence: () => this.endSentence(),
    })
    this.panel = new GrowthPanel(panel)
    this.buildExtras(signal)
    const observer = new ResizeObserver(() => this.transport.schedule())
    observer.observe(this.picture)
    signal.addEventListener("abort", () => observer.disconnect())
    this.canvas.addEventListener("pointermove", (event) => this.point(event), { signal })
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true), { signal })
  }

  /** @param {AbortSignal} signal */
  buildExtras(signal) {
    const { extras } = this.transport
    this.spanSwitch = segmented("Tokens shown", [["run", "This run"], ["context", "Whole context"]], (value) => {
      if (this.span.choose(value)) this.refresh()
    })
    extras.append(this.spanSwitch.host)
    pictureMenu(extras, () => this.frameNow(), () => `cache growth step ${this.transport.step}`, signal)
  }

  /** Streamlit calls this for each change of data or theme. @param {any} component */
  update({ data, setStateValue }) {
    this.data = { ...data, growth: data?.growth ?? `${data?.run}:growth` }
    this.send = setStateValue ?? null
    this.root.classList.toggle("onr-lecture", Boolean(this.data.lecture))
    this.retheme()
    this.load()
  }

  retheme() {
    const theme = readTheme(this.root)
    if (theme.key === this.theme?.key) return
    const style = getComputedStyle(this.root)
    for (const name of ["k", "v"]) theme[name] = style.getPropertyValue(`--c-${name}`).trim()
    this.theme = theme
    if (this.payload) this.refresh()
  }

  /** Take what the store has; a run on its way leaves the old picture standing. */
  load() {
    const next = storeGet(this.data.growth)
    if (!next) return
    if (next.format !== 1) throw new Error(`growth payload format must be 1, got ${next.format}`)
    const commanded = this.data.step_nonce !== this.nonce
    const keeps = continuesGrowth(this.payload, next) && !commanded
    const changed = next !== this.payload || commanded
    this.nonce = this.data.step_nonce
    this.payload = next
    this.waiting.hidden = true
    this.stage.hidden = false
    if (!keeps) this.asked = { rows: 0, at: 0 }
    if (changed) this.transport.setSteps(next.steps.length - 1, keeps ? null : this.data.step ?? 0)
    this.refresh()
  }

  refresh() {
    this.painter = new GrowthPainter(this.payload, /** @type {any} */ (this.span.value), this.theme)
    this.spanSwitch.show(this.span.value)
    this.root.classList.toggle("onr-recorded", Boolean(this.payload.recorded))
    this.transport.showNote?.([...this.payload.notes])
    this.transport.show()
    this.transport.schedule()
  }

  /** @param {number} step */
  frame(step) {
    const steps = this.payload?.steps
    return steps?.[Math.min(steps.length - 1, Math.max(0, step))]
  }

  /** Ask for more steps, once a size; true while they may still come. */
  wantMore() {
    const rows = this.payload && this.send ? wantedTokens(this.payload) : 0
    if (!rows || !this.transport.touched) return false
    if (this.asked.rows === rows) return performance.now() - this.asked.at < GROWTH_PATIENCE_MS
    this.asked = { rows, at: performance.now() }
    this.emit("want", rows)
    return true
  }

  /** Numbered, so that the same report made twice counts twice. @param {string} name @param {any} value */
  emit(name, value) {
    this.send?.(name, { value, n: ++this.reports })
  }

  /** Why the last step is the last, or nothing where more may come. */
  endSentence() {
    if (!this.payload) return ""
    if (this.send && wantedTokens(this.payload)) return ""
    return this.payload.stop.reason === "steps" && !this.send ? "This saved run ends here." : this.payload.stop.sentence
  }

  frameNow() {
    const { step, ms } = this.transport
    const painter = new GrowthPainter(this.payload, /** @type {any} */ (this.span.value), this.theme)
    return {
      painters: [new StillPicture(painter, SAVED, this.payload.steps.length - 1, painter.paint.bind(painter))],
      titles: [this.payload.words.title], caption: this.frame(step).caption, step, ms, theme: this.theme,
    }
  }

  /** A frame: everything below follows from (payload, span, step, ms). @param {number} step @param {number} ms */
  paint(step, ms) {
    const { clientWidth: width, clientHeight: height } = this.picture
    if (!this.payload || this.stage.hidden || width < 40) return
    const dpr = devicePixelRatio || 1
    sizeCanvas(this.canvas, width, height, dpr)
    const pen = new CanvasPen(/** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), dpr)
    pen.erase(0, 0, width, height)
    this.lay = this.painter.layout({ width, height })
    this.painter.paint(pen, this.lay, Math.min(step, this.payload.steps.length - 1), ms)
    setAttr(this.canvas, "aria-label", this.frame(step).caption)
    this.panel.paint(this.payload, step, phaseNumber(ms))
  }

  /** Which token's column is under the pointer. @param {PointerEvent} event */
  point(event) {
    if (!this.lay) return
    const box = this.canvas.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    const token = this.painter.hit(this.lay, x, y, this.transport.step)
    this.tip.hidden = token === null
    if (token === null) return
    const words = this.payload.words.hover.replace("{position}", String(token))
    setText(this.tip, words.replace("{token}", () => `“${this.payload.tokens[token]}”`))
    const left = Math.max(0, Math.min(x + 14, box.width - this.tip.offsetWidth))
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(0, y - 44))}px)`
  }

  dispose() {
    this.control.abort()
  }
}

/** Component entry. */
export const mountGrowth = keepStages((parent) => new GrowthStage(parent))
export default mountGrowth
