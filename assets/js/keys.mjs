// @ts-check
/** Which key does what, and when a key belongs to somebody else. */

/** @type {Record<string, string>} */
const KEY_ACTIONS = {
  ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back",
  " ": "play", Home: "first", End: "last",
}
const OWN_KEYS_ROLE =
  /^(slider|spinbutton|radio|radiogroup|tab|tablist|option|listbox|combobox|menu|menuitem|menuitemradio|menuitemcheckbox|grid|gridcell|tree|treeitem|textbox|searchbox)$/
const PRESSED_BY_SPACE = /^(BUTTON|A|SUMMARY)$/

/** The action of a key, or null. Presenter remotes send PageDown and PageUp. @param {string} key */
export const keyAction = (key) => KEY_ACTIONS[key] ?? null

/**
 * Does the focused element use this key itself?
 * @param {any} target `composedPath()[0]`, so that shadow roots hide nothing
 * @param {string} key
 */
export function ownsKey(target, key) {
  if (!target?.tagName) return false
  if (target.dataset?.onrScrub !== undefined) return false
  if (/^(INPUT|TEXTAREA|SELECT|VIDEO|AUDIO|IFRAME)$/.test(target.tagName) || target.isContentEditable) return true
  const role = target.getAttribute?.("role") ?? ""
  if (OWN_KEYS_ROLE.test(role)) return true
  // A grid of cells moves its cursor with arrows; a presenter's remote still turns the page.
  if (target.dataset?.onrArrows !== undefined) return /^(Arrow|Home$|End$)/.test(key)
  return key === " " && (PRESSED_BY_SPACE.test(target.tagName) || /^(button|switch|checkbox|link)$/.test(role))
}

/** What Streamlit and the browser put over the page while it waits for an answer. */
const OVERLAYS = '[role="dialog"], [role="menu"], [role="listbox"], dialog[open], [data-testid="stPopoverBody"]'

/** @param {ParentNode} scope */
export function overlayOpen(scope) {
  return scope.querySelector(OVERLAYS) !== null
}

/** The action that a key event asks of the page, or null. @param {KeyboardEvent} event @param {ParentNode} scope */
export function pageAction(event, scope) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return null
  const action = keyAction(event.key)
  if (!action || ownsKey(event.composedPath()[0], event.key) || overlayOpen(scope)) return null
  return action
}
