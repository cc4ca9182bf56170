"use strict";
// Asks Airflow's own API, as its form does: with the session of whoever looks at the page.

const form = document.querySelector("form");
const answer = document.querySelector("#answer");
const begun = document.querySelector("#begun");
const unpause = document.querySelector("#unpause");

async function ask(path, method, content) {
  const response = await fetch(form.dataset.dag + path, {
    method,
    credentials: "same-origin",
    headers: {"Content-Type": "application/json"},
    body: content && JSON.stringify(content),
  });
  const told = await response.json().catch(() => ({}));
  if (response.ok) return told;
  const detail = typeof told.detail === "string" ? told.detail : JSON.stringify(told.detail ?? "");
  throw new Error(`Airflow refused (${response.status}): ${detail}`);
}

function valueOf(field) {
  const text = field.value.trim();
  switch (field.dataset.input) {
    case "switch": return field.checked;
    case "lines": {
      const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
      return lines.length ? [...new Set(lines)] : null;
    }
    default: return text || null;
  }
}

async function run() {
  const conf = JSON.parse(form.dataset.fixed);
  for (const field of form.querySelectorAll("[data-input]")) conf[field.name] = valueOf(field);
  const run = await ask("/dagRuns", "POST", {logical_date: new Date().toISOString(), conf});
  const shown = form.dataset.shown + encodeURIComponent(run.dag_run_id);
  if (!unpause.hidden && unpause.querySelector("input").checked) {
    try {
      await ask("?update_mask=is_paused", "PATCH", {is_paused: false});
    } catch (error) {
      answer.textContent = `The run waits, for the DAG is still paused. ${error.message}`;
      begun.querySelector("a").href = shown;
      begun.hidden = false;
      return;
    }
  }
  location.assign(shown);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  answer.textContent = "";
  run().catch((error) => {
    answer.textContent = error.message;
    button.disabled = false;
  });
});

ask("", "GET").then(
  (dag) => { unpause.hidden = !dag.is_paused; },
  (error) => { answer.textContent = error.message; },
);
