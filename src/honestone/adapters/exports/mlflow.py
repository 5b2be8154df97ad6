"""A finished run to an MLflow store, through MLflow's own client (the extra `mlflow`).

The store is that of the standard variable MLFLOW_TRACKING_URI: a server, or `sqlite:///FILE`. A run
is marked finished when all of it is there, so that one that was cut off is not taken for a whole
one.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import unquote

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.core.record.exported import MlflowRun

STORE_VARIABLE: Final = "MLFLOW_TRACKING_URI"
EXPERIMENT_VARIABLE: Final = "MLFLOW_EXPERIMENT_NAME"
# MLflow's own limits let a server that does not answer hold a command for many minutes.
_PATIENCE: Final = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
# Nothing about this command goes to MLflow's makers, and migrations of a database are not news for
# it.
_QUIET: Final = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_SECRET_VARIABLES: Final = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "DATABRICKS_TOKEN")
_DATABASES: Final = ("sqlite:", "postgresql", "mysql", "mssql")
# MLflow takes at most 100 params and 1,000 metrics in one call.
_AT_ONCE: Final = 100
TABLE: Final = "cases.json"
REPORT: Final = "honestone-report.json"


class MlflowPlace(Struct, frozen=True, kw_only=True):
    """A run of MLflow. `was_there`: an earlier command wrote it. `store` has no login."""

    run: str
    experiment: str
    store: str
    was_there: bool


def store_run(made: MlflowRun) -> MlflowPlace:
    """Write a run, or find the finished one that has the same value of the tag `known_by`.
    MLFLOW_EXPERIMENT_NAME takes the place of `experiment`.

    Raises UsageError where MLflow or the address is missing, or the store refuses; no login is in
    its message.
    """
    address = os.environ.get(STORE_VARIABLE, "").strip()
    if not address:
        raise UsageError(
            f"--format mlflow does not know where to: {STORE_VARIABLE} is not set",
            hint=f"set {STORE_VARIABLE} to your server, or to a file: {STORE_VARIABLE}=sqlite:///mlflow.db",
        )
    client, experiment = (
        _client(address),
        os.environ.get(EXPERIMENT_VARIABLE, "").strip() or made.experiment,
    )
    try:
        experiment_id = _experiment(client, experiment)
        found = client.search_runs(
            [experiment_id],
            f"tags.`{made.known_by}` = '{made.tags[made.known_by]}'",
            max_results=100,
        )
        done = next((one.info.run_id for one in found if one.info.status == "FINISHED"), None)
        asked = {"start_time": made.began, "tags": dict(made.tags), "run_name": made.name}
        run = done or client.create_run(experiment_id, **asked).info.run_id
        if done is None:
            _fill(client, run, made)
    except Exception as error:  # of many libraries: HTTP, SQL, files, MLflow's own
        raise UsageError(
            f"MLflow at {without_login(address)} did not take the run: {_message_without_secrets(error, address)}",
            hint="the same command tries again; what was begun is not marked as finished",
        ) from None
    return MlflowPlace(
        run=run, experiment=experiment, store=without_login(address), was_there=done is not None
    )


def _client(address: str) -> Any:
    for variable, value in (_PATIENCE | _QUIET).items():
        os.environ.setdefault(variable, value)
    warnings.filterwarnings("ignore", module=r"mlflow\b.*")
    try:
        client = import_module("mlflow").MlflowClient
    except ImportError:
        raise UsageError(
            "--format mlflow needs MLflow's client, which is not installed",
            hint="pip install 'honestone[mlflow]'",
        ) from None
    if address.startswith(_DATABASES) and find_spec("sqlalchemy") is None:
        raise UsageError(
            f"{STORE_VARIABLE} names a database, which only the whole of MLflow opens",
            hint="pip install mlflow, or name a server: http://HOST:5000",
        )
    try:
        return client(tracking_uri=address)
    except Exception as error:
        raise UsageError(
            f"{STORE_VARIABLE} cannot be used: {_message_without_secrets(error, address)}",
            hint=f"name a server or a database: {STORE_VARIABLE}=sqlite:///mlflow.db",
        ) from None


def _experiment(client: Any, name: str) -> str:
    found = client.get_experiment_by_name(name)
    return str(found.experiment_id if found is not None else client.create_experiment(name))


def _fill(client: Any, run: str, made: MlflowRun) -> None:
    entities = import_module("mlflow.entities")
    try:
        client.log_batch(
            run,
            params=[
                entities.Param(name, value) for name, value in list(made.params.items())[:_AT_ONCE]
            ],
            metrics=[
                entities.Metric(name, value, made.ended, 0) for name, value in made.metrics.items()
            ],
        )
        client.log_text(run, made.report, REPORT)
        # The form of `mlflow.log_table`, which needs pandas to write it.
        rows = [list(row) for row in zip(*made.table.values(), strict=True)]
        client.log_dict(run, {"columns": list(made.table), "data": rows}, TABLE)
        client.set_tag(run, "mlflow.loggedArtifacts", f'[{{"path": "{TABLE}", "type": "table"}}]')
        client.set_terminated(run, status="FINISHED", end_time=made.ended)
    except BaseException:
        _mark_failed(client, run)
        raise


def _mark_failed(client: Any, run: str) -> None:
    try:
        client.set_terminated(run, status="FAILED")
    except Exception:  # the store that failed is away: the run keeps the state RUNNING, which is not finished either
        return


def without_login(address: str) -> str:
    """The address without user name, password and query."""
    scheme, mark, rest = address.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _message_without_secrets(error: Exception, address: str) -> str:
    """What went wrong, in a line without what is secret in the address or in the variables of a
    login.
    """
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    login, _, _ = address.partition("://")[2].partition("/")[0].rpartition("@")
    _, _, password = login.partition(":")
    values = [os.environ.get(name, "") for name in _SECRET_VARIABLES]
    for secret in (address, login, password, unquote(password), *values):
        if secret:
            first = first.replace(
                secret, without_login(address) if secret == address else "[hidden]"
            )
    return first[:300]
