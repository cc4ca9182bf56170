"""Pictures of the running stack for the pages.

`make screenshots`, once `make up` has published a cut; it needs Debian's chromium and
chromium-driver.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

USER = "admin"
SECONDS = 60
# Picture -> where it is in the UI, and a text that is there once all of it is.
PICTURES = {
    "airflow.png": ("/dags/cut__shop", "Last 24 Hours"),
    "page.png": ("/tidemark/pipelines/shop", "Changes applied, by cut"),
}


def main(airflow: Path, folder: Path) -> None:
    """Write each picture into ``folder``; airflow: the home of the running stack's Airflow."""
    url = (airflow / "address").read_text(encoding="utf-8")
    password = json.loads((airflow / "passwords.json").read_text(encoding="utf-8"))[USER]
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument("--window-size=1280,900")
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with webdriver.Chrome(options, service) as browser:
        browser.get(f"{url}/auth/login")
        _await(browser, "Username")
        browser.find_element(By.NAME, "username").send_keys(USER)
        browser.find_element(By.NAME, "password").send_keys(password)
        browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        _await(browser, "Welcome")
        for name, (place, text) in PICTURES.items():
            browser.get(f"{url}{place}")
            _await(browser, text)
            browser.save_screenshot(str(folder / name))


def _await(browser: webdriver.Chrome, text: str) -> None:
    def is_there(page: webdriver.Chrome) -> bool:
        return text in page.find_element(By.TAG_NAME, "body").text

    WebDriverWait(browser, SECONDS).until(is_there, f"{browser.current_url} shows no {text!r}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
