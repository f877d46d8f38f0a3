// @ts-check
/** The stage of everything that is planned, not run: one chart, its numbers, what they say in words. */
import { merged } from "./address.mjs"
import { el, saveBlob, segmented, setAttr, setText } from "./dom.mjs"
import { readTheme, sizeCanvas } from "./draw.mjs"
import { LinePainter } from "./linechart.mjs"
import { keepStages, watchLook } from "./mount.mjs"
import { CanvasPen } from "./pen.mjs"
import { SizeSliders } from "./sizes.mjs"
import { storeGet, storeSubscribe } from "./store.mjs"
import { StillPicture, fileName, pictureMenu } from "./takeaway.mjs"

const SAVED_CHART = { width: 1040, height: 560 }
/** How long a slider must rest before the address follows. */
const FOLLOW_MS = 200
const SCALE_LABELS = { linear: "linear", log: "log" }
/** Colours that only charts need, beside those of every stage. */
const CHART_COLORS = ["weights", "weights-text", "k", "v"]

/** One row a sampled place, one column a line; the numbers that were drawn.
 * @param {import("./linechart.mjs").Chart} chart */
export function linesCsv(chart) {
  const cell = (/** @type {any} */ value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value))
  const sampled = chart.lines.filter((line) => line.x.length === chart.lines[0].x.length)
  const rows = chart.lines[0].x.map((x, i) => [x, ...sampled.map((line) => line.y[i])])
  return [["x", ...sampled.map((line) => line.id)], ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n"
}

/** What the plan says, without words made for the screen. @param {any} plan */
export const figuresJson = ({ title, figures, formulas, notes, charts }) =>
  JSON.stringify({
    title, figures, formulas: Object.fromEntries((formulas ?? []).map((/** @type {string[]} */ [named, numbers]) => [named, numbers])), notes,
    curves: Object.fromEntries((charts ?? []).map((/** @type {any} */ chart) => [chart.id, chart.lines.map((/** @type {any} */ { id, x, y }) => ({ id, x, y }))])),
  }, null, 1)

class CurvesStage {
  /** @param {any} parent a ShadowRoot */
  constructor(parent) {
    this.control = new AbortController()
    const { signal } = this.control
    /** @type {any} */
    this.data = {}
    this.plan = ""
    /** @type {((name: string, value: any) => void)|null} */
    this.send = null
    this.reports = 0
    /** @type {any} */
    this.following = 0
    /** @type {Record<string, string>} what the viewer chose here; the server need not know */
    this.chosen = { view: "", scale: "" }
    /** @type {number|null} */
    this.hover = null
    this.raf = 0
    this.build(parent, signal)
    storeSubscribe((key) => key === this.plan && this.load(), signal)
    watchLook(() => this.retheme(), signal)
    const observer = new ResizeObserver(() => this.schedule())
    observer.observe(this.picture)
    signal.addEventListener("abort", () => observer.disconnect())
  }

  /** @param {any} parent @param {AbortSignal} signal */
  build(parent, signal) {
    this.root = parent.querySelector("[data-onr='stage']") ?? parent.appendChild(el("div", { "data-onr": "stage" }))
    const sizes = el("div", { class: "onr-sizes" })
    this.sizes = new SizeSliders(sizes, (wish) => this.send?.("sizes", { ...wish, n: ++this.reports }))
    this.views = el("div", { class: "onr-views" })
    this.scales = segmented("Scale", Object.entries(SCALE_LABELS), (value) => this.choose("scale", value))
    this.tools = el("div", { class: "onr-extras" }, this.views, this.scales.host)
    const menu = pictureMenu(this.tools, () => this.frameNow(), () => this.data.title ?? "", signal)
    this.addData(menu)
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img" }))
    this.tip = el("div", { class: "onr-tip", hidden: true })
    this.picture = el("div", { class: "onr-chart" }, this.canvas, this.tip)
    this.big = el("div", { class: "onr-big" })
    this.tiles = el("dl", { class: "onr-tiles" })
    this.stack = el("div", { class: "onr-stack", role: "img" })
    this.words = el("ul", { class: "onr-words", role: "status", "aria-live": "polite" })
    this.panel = el("aside", { class: "onr-panel", "aria-label": "Numbers" }, this.big, this.tiles)
    this.body = el("div", { class: "onr-body" }, this.panel, el("div", { class: "onr-middle" }, this.tools, this.picture), this.stack)
    this.formulas = el("div", { class: "onr-formula-list" })
    this.folded = /** @type {HTMLDetailsElement} */ (
      el("details", { class: "onr-formulas" }, el("summary", {}, "Formulas, as they were evaluated"), this.formulas)
    )
    this.folded.addEventListener("toggle", () => this.showFormulas(), { signal })
    this.notes = el("p", { class: "onr-note" })
    this.root.replaceChildren(el("div", { class: "onr-stage" }, sizes, this.body, this.words, this.folded, this.notes))
    this.canvas.addEventListener("pointermove", (event) => this.point(event), { signal })
    this.canvas.addEventListener("pointerleave", () => this.look(null), { signal })
  }

  /** The menu also gives the numbers away: the lines that are seen, and all figures with their formulas.
   * @param {HTMLElement} menu */
  addData(menu) {
    const [opener, list] = /** @type {HTMLElement[]} */ ([...menu.children])
    opener.textContent = "Take away ▾"
    const item = (/** @type {string} */ text, /** @type {string} */ type, /** @type {string} */ extension, /** @type {() => string} */ make) =>
      list.append(el("button", { type: "button", click: () => {
        opener.click()
        saveBlob(new Blob([make()], { type }), fileName(`${this.data.title} ${this.chartNow()?.id ?? ""}`, extension))
      } }, text))
    item("Save the lines (CSV)", "text/csv", "csv", () => linesCsv(/** @type {any} */ (this.chartNow())))
    item("Save the figures (JSON)", "application/json", "json", () => figuresJson(this.data))
  }

  /** Streamlit calls this for each change of theme; the plan itself comes through the store. @param {any} component */
  update({ data, setStateValue }) {
    this.plan = data?.plan ?? ""
    this.send = setStateValue ?? null
    this.load()
    this.retheme()
  }

  /** Take the plan that the store has; one on its way leaves the old picture standing. */
  load() {
    this.data = storeGet(this.plan) ?? this.data
    this.root.classList.toggle("onr-lecture", Boolean(this.data.lecture))
    setAttr(this.root, "data-kind", this.data.kind ?? "")
    this.follow(this.data.address)
    this.sizes.receive(this.data.sizes ?? [])
    this.showViews()
    this.showNumbers()
    if (this.theme) this.refresh()
  }

  /** The address names what is seen: a slider draws no page again that could do it. Browsers allow
   * few changes a second, so it waits until the hand rests. @param {any} address */
  follow(address) {
    clearTimeout(this.following)
    if (!address || !this.send) return
    const { pathname } = location
    this.following = setTimeout(() => {
      const search = merged(location.search, address.wanted, address.names)
      if (location.pathname !== pathname || search === location.search) return
      history.replaceState(history.state, "", pathname + search + location.hash)
    }, FOLLOW_MS)
  }

  retheme() {
    const theme = readTheme(this.root)
    if (theme.key === this.theme?.key) return
    const style = getComputedStyle(this.root)
    for (const name of CHART_COLORS) theme[name] = style.getPropertyValue(`--onr-${name}`).trim()
    this.theme = theme
    this.refresh()
  }

  /** The chart that is seen; a view that went away gives way to the first. */
  chartNow() {
    const charts = /** @type {import("./linechart.mjs").Chart[]} */ (this.data.charts ?? [])
    return charts.find((chart) => chart.id === (this.chosen.view || this.data.view)) ?? charts[0]
  }

  showViews() {
    const charts = this.data.charts ?? []
    const key = JSON.stringify(charts.map((/** @type {any} */ chart) => [chart.id, chart.label]))
    if (key !== this.viewsKey) {
      this.viewsKey = key
      this.viewSwitch = segmented("View", charts.map((/** @type {any} */ chart) => [chart.id, chart.label]), (value) => this.choose("view", value))
      this.views.replaceChildren(...(charts.length > 1 ? [this.viewSwitch.host] : []))
    }
  }

  /** @param {"view"|"scale"} name @param {string} value */
  choose(name, value) {
    this.chosen[name] = value
    this.refresh()
  }

  refresh() {
    const chart = this.chartNow()
    if (!chart) return
    const scales = Object.keys(chart.scales)
    const scale = scales.includes(this.chosen.scale) ? this.chosen.scale : scales[0]
    this.painter = new LinePainter(chart, scale, this.theme)
    this.hover = null
    this.viewSwitch?.show(chart.id)
    this.scales.show(scale)
    this.scales.host.hidden = scales.length < 2
    setAttr(this.canvas, "aria-label", [this.data.title, ...(this.data.words ?? [])].join(" "))
    this.paint() // at once: waiting for a frame would cost one
  }

  showNumbers() {
    const { big, tiles = [], words = [], stack = [], notes = [] } = this.data
    setText(this.notes, notes.join(" "))
    this.showFormulas()
    this.showBig(big)
    this.showTiles(tiles)
    if (JSON.stringify(words) !== this.wordsKey) {
      this.wordsKey = JSON.stringify(words)
      this.words.replaceChildren(...words.map((/** @type {string} */ text) => el("li", {}, text)))
    }
    this.showStack(stack)
  }

  /** @param {any} big the one number above all others */
  showBig(big) {
    this.big.hidden = !big
    if (!big) return
    if (!this.bigParts) {
      const [name, kind, value, beside] = [el("span"), el("span", { class: "onr-kind" }), el("div", { class: "onr-big-value" }), el("div", { class: "onr-beside" })]
      this.big.replaceChildren(el("div", { class: "onr-big-label" }, name, kind), value, beside)
      this.bigParts = { label: name, kind, value, beside }
    }
    for (const [part, node] of Object.entries(this.bigParts)) setText(node, big[part])
  }

  /** Numbers change in place; only other numbers than before are built anew. @param {any[]} tiles */
  showTiles(tiles) {
    const key = tiles.map((tile) => tile.id).join()
    if (key !== this.tilesKey) {
      this.tilesKey = key
      this.tileParts = tiles.map(({ id }) => {
        const [label, value, beside] = [el("dt"), el("span", { class: "onr-value" }), el("span", { class: "onr-beside" })]
        return { tile: el("div", { class: "onr-tile", "data-id": id }, label, el("dd", {}, value, beside)), label, value, beside }
      })
      this.tiles.replaceChildren(...this.tileParts.map(({ tile }) => tile))
    }
    this.tileParts?.forEach((parts, i) => {
      setText(parts.label, tiles[i].label)
      setText(parts.value, tiles[i].value)
      setText(parts.beside, tiles[i].beside)
    })
  }

  /** Every figure in names and in numbers, once somebody wants to see it. */
  showFormulas() {
    if (!this.folded.open) return
    this.formulas.replaceChildren(...(this.data.formulas ?? []).map((/** @type {string[]} */ [named, numbers]) =>
      el("p", {}, el("code", {}, named), el("code", {}, `= ${numbers}`))))
  }

  /** Where one step's time goes, as one bar. @param {any[]} stack */
  showStack(stack) {
    this.stack.hidden = stack.length === 0
    if (!stack.length) return
    const key = stack.map((part) => [part.label, part.color].join()).join("|")
    if (key !== this.stackKey) {
      this.stackKey = key
      this.stackTitle = el("div", { class: "onr-stack-title" })
      this.stackParts = stack.map((part) => {
        const value = el("span", { class: "onr-beside" })
        return { block: el("i", { "data-color": part.color }), value, entry: el("div", { class: "onr-stack-key", "data-color": part.color }, el("strong", {}, part.label), value) }
      })
      this.stack.replaceChildren(this.stackTitle, el("div", { class: "onr-stack-body" },
        el("div", { class: "onr-stack-bar" }, ...this.stackParts.map(({ block }) => block)),
        el("div", { class: "onr-stack-keys" }, ...this.stackParts.map(({ entry }) => entry))))
    }
    setText(/** @type {HTMLElement} */ (this.stackTitle), this.data.stack_title)
    this.stackParts?.forEach(({ block, value }, i) => {
      block.hidden = stack[i].share === 0
      block.style.flexGrow = String(stack[i].share)
      setText(value, stack[i].value)
    })
    setAttr(this.stack, "aria-label", stack.map((part) => `${part.label} ${part.value}`).join(", "))
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
    setAttr(this.root, "data-painted", `${this.data.title} @ ${this.painter.chart.cursor?.x ?? ""}`)
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!this.lay || !this.painter) return
    const box = this.canvas.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    this.look(this.painter.hit(this.lay, x, y))
    if (this.hover === null) return
    const { title, rows } = this.painter.describe(this.hover)
    this.tip.replaceChildren(el("strong", {}, title), ...rows.map((row) => el("div", {}, row)))
    const left = x + 18 + this.tip.offsetWidth < box.width ? x + 18 : Math.max(0, x - 18 - this.tip.offsetWidth)
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(0, Math.min(y, box.height - this.tip.offsetHeight)))}px)`
  }

  /** @param {number|null} index */
  look(index) {
    this.tip.hidden = index === null
    if (index === this.hover) return
    this.hover = index
    this.schedule()
  }

  frameNow() {
    const caption = (this.data.words ?? []).join(" ")
    return { painters: [new StillPicture(this.painter, SAVED_CHART)], titles: [this.data.title ?? ""], caption, step: 0, ms: 0, theme: this.theme }
  }

  dispose() {
    this.control.abort()
    clearTimeout(this.following)
    cancelAnimationFrame(this.raf)
  }
}

/** Component entry. */
export const mountCurves = keepStages((parent) => new CurvesStage(parent))
export default mountCurves
