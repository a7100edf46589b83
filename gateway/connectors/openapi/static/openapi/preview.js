"use strict";

// The page works without this: it finds operations, chooses many at once, and adds up the tokens of the chosen ones.
const page = document.querySelector(".import-preview");
const rows = [...page.querySelectorAll("[data-row]")];
const box = (row) => row.querySelector("input[type=checkbox]");
const total = page.querySelector("[data-total]");
const none = page.querySelector("[data-none]");

function add() {
  const on = rows.filter((row) => box(row)?.checked);
  const tokens = on.reduce((sum, row) => sum + Number(box(row).dataset.tokens), 0);
  total.textContent = `${on.length.toLocaleString("en")} tools on, about ${tokens.toLocaleString("en")} tokens`;
}

function words(row) {
  const name = row.querySelector("input[type=text]")?.value ?? "";
  return `${row.textContent} ${name} ${row.dataset.tags ?? ""}`.toLowerCase();
}

function find(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) {
    const said = words(row);
    row.hidden = !wanted.every((word) => said.includes(word));
  }
  none.hidden = rows.length === 0 || rows.some((row) => !row.hidden);
}

function choose(which) {
  for (const row of rows.filter((each) => !each.hidden && box(each))) {
    box(row).checked = which === "reads" && !("acts" in row.dataset);
  }
  page.dispatchEvent(new Event("change", { bubbles: true })); // the tool list's own script listens too
}

const filter = page.querySelector("[data-filter]");
filter.addEventListener("input", () => find(filter.value));
filter.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
page.querySelectorAll("[data-choose]").forEach((button) => button.addEventListener("click", () => choose(button.dataset.choose)));
page.addEventListener("change", add);

// A large API has thousands of names: only those that were typed are sent.
page.querySelector("form").addEventListener("formdata", (event) => {
  for (const input of page.querySelectorAll("input[data-proposed]")) {
    if (input.value === input.dataset.proposed) event.formData.delete(input.name);
  }
});

page.querySelector("[data-tools]").hidden = false;
add();
