// @ts-check
/** Building DOM from text only: strings always arrive through textContent, never as markup. */

/**
 * A new element with attributes and children; strings become text nodes.
 * @param {string} tag
 * @param {Record<string, any>} [attrs] `class`, `data-*`, `aria-*`; a function value becomes a listener
 * @param {...(Node|string|null|undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue
    if (typeof value === "function") node.addEventListener(name, value)
    else node.setAttribute(name, value === true ? "" : String(value))
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child)
  return node
}

/**
 * Write text only when it changed, so that an unchanged frame touches no layout.
 * @param {Element} node @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/** @param {Element} node @param {string} name @param {string|null} value */
export function setAttr(node, name, value) {
  if (value === null) node.removeAttribute(name)
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value)
}

/** One of several exclusive choices, as real buttons that a keyboard can reach.
 * @param {string} label @param {[string, string][]} options value and text
 * @param {(value: string) => void} onPick */
export function segmented(label, options, onPick) {
  const host = el("div", { class: "onr-seg", role: "group", "aria-label": label })
  const buttons = options.map(([value, text]) => {
    const button = el("button", { type: "button", "data-value": value, "aria-pressed": "false" }, text)
    button.addEventListener("click", () => onPick(value))
    host.append(button)
    return button
  })
  /** @param {string} value */
  const show = (value) =>
    buttons.forEach((b) => setAttr(b, "aria-pressed", String(b.dataset.value === value)))
  return { host, show }
}

/** Hand a file to the browser's own download, without a server.
 * @param {Blob} blob @param {string} name */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob)
  const link = el("a", { href: url, download: name })
  link.style.display = "none"
  document.body.append(link)
  link.click()
  link.remove()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
