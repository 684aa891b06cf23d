// A stand-in for CloudWatch's console: it gives <cwdb-action> the meaning that AWS documents for custom widgets, and
// nothing beyond it. On AWS the console does all of this, and none of this file is there.
"use strict";

const widget = document.getElementById("widget");
const dialog = document.getElementById("dialog");
const theme = new URLSearchParams(location.search).get("theme") === "dark" ? "dark" : "light";
document.documentElement.dataset.theme = theme;

function forms() {
  const all = {};
  for (const field of widget.querySelectorAll("input[name], select[name], textarea[name]")) {
    all[field.name] = field.value;
  }
  return { all };
}

async function call(endpoint, parameters) {
  document.body.dataset.state = "calling";
  const body = JSON.stringify({ endpoint, parameters, forms: forms(), theme });
  const answer = await fetch("/call", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return answer.text();
}

function show(html, display) {
  if (display === "popup") {
    ask(html, []);
  } else {
    widget.innerHTML = html;
    scrollTo(0, 0);
    for (const action of widget.querySelectorAll("cwdb-action")) attach(action);
  }
  document.body.dataset.state = "shown";
}

function attach(action) {
  // The element that an action belongs to is the one immediately before it.
  action.previousElementSibling?.addEventListener(action.getAttribute("event") ?? "click", async (event) => {
    event.preventDefault();
    const question = action.getAttribute("confirmation");
    if (question && !(await confirmed(question))) return;
    const display = action.getAttribute("display") ?? "widget";
    if (action.getAttribute("action") !== "call") return show(action.innerHTML, display);
    const parameters = JSON.parse(action.textContent.trim() || "{}");
    show(await call(action.getAttribute("endpoint"), parameters), display);
  });
}

function confirmed(question) {
  const text = document.createElement("p");
  text.textContent = question;
  return new Promise((resolve) => ask(text.outerHTML, ["Cancel", "Confirm"], (chosen) => resolve(chosen === "Confirm")));
}

function ask(html, choices, answered = () => {}) {
  dialog.innerHTML = html;
  const form = document.createElement("form");
  form.method = "dialog";
  for (const choice of choices.length ? choices : ["Close"]) {
    const button = document.createElement("button");
    button.value = button.textContent = choice;
    form.append(button);
  }
  dialog.append(form);
  dialog.returnValue = "";
  dialog.onclose = () => answered(dialog.returnValue);
  dialog.showModal();
}

widget.addEventListener("submit", (event) => event.preventDefault());
call(null, {}).then((html) => show(html, "widget"));
