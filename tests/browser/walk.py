"""A person with a browser, who looks at the page and decides about a blocked cut.

A program of its own, in the environment that has Selenium: what it is to do comes as JSON on stdin,
and what it saw goes as JSON to stdout.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

USER = "admin"
SECONDS = 60
HEIGHT = 900
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # as a machine without the internet
)


@dataclass
class Walk:
    """A browser and where it is. seen: step -> what the page of then was like."""

    browser: webdriver.Chrome
    url: str
    folder: Path
    pixels: int = 0
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)

    def sign_in(self, password: str) -> None:
        self.browser.get(f"{self.url}/auth/login")
        self.await_text("Username")
        self.browser.find_element(By.NAME, "username").send_keys(USER)
        self.browser.find_element(By.NAME, "password").send_keys(password)
        self.browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        self.await_text("Welcome")
        self.browser.get_log("browser")  # what Airflow's own pages complain of

    def open(self, path: str) -> None:
        self.browser.get(f"{self.url}{path}")

    def follow(self, text: str) -> None:
        self.browser.find_element(By.LINK_TEXT, text).click()

    def follow_to(self, href: str) -> None:
        """Follow the first link that has ``href`` in it."""
        self.browser.find_element(By.CSS_SELECTOR, f"a[href*='{href}']").click()

    def width(self, pixels: int) -> None:
        """Have the page so wide: a window of a desktop is no narrower than 500 pixels."""
        size = {"width": pixels, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": pixels < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.pixels = pixels

    def await_text(self, text: str) -> None:
        def is_there(page: webdriver.Chrome) -> bool:
            return text in page.find_element(By.TAG_NAME, "body").text

        WebDriverWait(self.browser, SECONDS).until(
            is_there, f"{self.browser.current_url} shows no {text!r}"
        )

    def look(self, step: str, text: str) -> None:
        """Wait for ``text``, take a picture, and note what is there."""
        self.await_text(text)
        width = self.browser.execute_script("return document.documentElement.scrollWidth")
        self.seen[step] = {
            "path": self.browser.current_url.removeprefix(self.url),
            "text": self.browser.find_element(By.TAG_NAME, "body").text,
            "too_wide_by": width - self.pixels,
            "fields": {
                field.get_attribute("name"): field.get_attribute("value")
                for field in self.browser.find_elements(By.CSS_SELECTOR, "[data-input]")
            },
            "complaints": [entry["message"] for entry in self.browser.get_log("browser")],
        }
        self.browser.save_screenshot(str(self.folder / f"{step}.png"))


def look_around(walk: Walk, size: str, pixels: int) -> None:
    """From all pipelines to one, a table of it, what its audit found, and a form."""
    walk.width(pixels)
    walk.open("/tidemark/")
    walk.look(f"pipelines-{size}", "inventory")
    walk.follow("inventory")
    walk.look(f"pipeline-{size}", "Changes applied, by cut")
    walk.follow("inventory.orders")
    walk.look(f"table-{size}", "History")
    walk.follow_to("docs/cuts/")
    walk.look(f"docs-{size}", "checks failed")
    walk.follow("All audits")
    walk.look(f"audits-{size}", "Audits of inventory")
    walk.open("/tidemark/pipelines/shop")
    walk.look(f"blocked-{size}", "is blocked by its audit")
    walk.follow("Publish cut 1 all the same")
    walk.look(f"form-{size}", "Publish the blocked cut")


def decide(walk: Walk) -> None:
    """Publish the blocked cut by the form; it asks for a reason first."""
    walk.width(1280)
    walk.open("/tidemark/pipelines/shop")
    walk.follow("Publish cut 1 all the same")
    walk.look("paused", "It is paused")
    walk.browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    walk.look("without-reason", "Publish the blocked cut")
    walk.browser.find_element(By.NAME, "reason").send_keys("the shop has customers")
    walk.browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    WebDriverWait(walk.browser, SECONDS).until(lambda page: "/runs/" in page.current_url)
    walk.look("begun", "action__shop")


def main() -> None:
    """Do both."""
    asked = json.load(sys.stdin)
    options = webdriver.ChromeOptions()
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with webdriver.Chrome(options, service) as browser:
        walk = Walk(browser, asked["url"], Path(asked["folder"]))
        walk.width(1280)
        walk.sign_in(asked["password"])
        look_around(walk, "desktop", 1280)
        look_around(walk, "phone", 390)
        decide(walk)
        walk.width(1280)
        walk.open("/dags/cut__inventory")
        walk.look("airflow", "Last 24 Hours")
    json.dump(walk.seen, sys.stdout)


if __name__ == "__main__":
    main()
