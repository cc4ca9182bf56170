-- Runs once, on an empty data folder: Airflow's database and the lake's catalog, a role for each.
\getenv airflow_password AIRFLOW_DATABASE_PASSWORD
\getenv lake_password TIDEMARK_CATALOG_PASSWORD

CREATE ROLE airflow LOGIN PASSWORD :'airflow_password';
CREATE DATABASE airflow OWNER airflow;
CREATE ROLE lake LOGIN PASSWORD :'lake_password';
CREATE DATABASE lake OWNER lake;
REVOKE CONNECT ON DATABASE airflow, lake FROM PUBLIC;
