"use strict";

// Says before anything is saved that the list of all tools would no longer fit its budget. A checkbox that switches a
// tool has data-tokens, the size of its definition, and data-was-on if the tool is on now.
const gauge = document.querySelector("[data-tool-list]");
const warning = document.querySelector("[data-tool-list-warning]");
const switches = [...document.querySelectorAll("input[data-tokens]")];
const action = document.querySelector("select[name=action]");
const ACTIONS = { switch_on: true, switch_off: false };

// As it would be after saving, or after the action that is chosen for its row.
function isOn(box) {
  const isSelected = box.closest("tr")?.querySelector("input.action-select")?.checked;
  return isSelected && action?.value in ACTIONS ? ACTIONS[action.value] : box.checked;
}

function changed(box) {
  return (isOn(box) - ("wasOn" in box.dataset)) * Number(box.dataset.tokens);
}

function warn() {
  const now = Number(gauge.dataset.tokens);
  const budget = Number(gauge.dataset.budget);
  const then = switches.reduce((sum, box) => sum + changed(box), now);
  warning.hidden = then <= budget || then <= now;
  const figures = `${then.toLocaleString("en")} of ${budget.toLocaleString("en")} tokens`;
  warning.textContent = warning.hidden ? "" : `With this choice the tool list takes ${figures}: clients get a search instead of the list.`;
}

if (gauge && warning) {
  document.addEventListener("change", warn);
  document.addEventListener("click", () => setTimeout(warn)); // the admin's own script selects several rows at once
  warn();
}
