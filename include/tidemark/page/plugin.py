"""The Airflow plugin: a page that says how far every pipeline is, in Airflow's menu.

Every process of Airflow reads this module, also that of each task, so the page itself is imported
where Airflow's server asks for it. `preload` is what the others get.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tidemark.scheduling import preload
from tidemark.scheduling.links import PAGE


class TidemarkPlugin(AirflowPlugin):
    """Mounts the page in Airflow's server, and names it in the menu.

    It opens in a tab of its own: what Airflow frames may not lead to Airflow's pages.
    """

    name = "tidemark"
    listeners = [preload]
    external_views: list[Any] = [
        {"name": "Tidemark", "href": f"{PAGE}/", "destination": "nav", "category": "browse"},
    ]

    @property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]  # Airflow reads an instance
        """The page, and where it is."""
        from tidemark.page.app import app

        return [{"app": app, "url_prefix": PAGE, "name": "Tidemark"}]
