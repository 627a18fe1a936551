"""Purpose: executes the notebook of docs/fleet.md over a generated fleet, so that it has its plots."""
import os
import pathlib

import training

FOLDER = training.ROOT / "docs"
GENERATOR = training.BUILD / "tests" / "bench_trace" / "memtrace_fleet_trace"
# What the first cell says.
FLEET = ("100", "outlier=37:40", "outlier=80:30", "leak=pp:1:65536", "half=7", "rounding=16777216")
PACKAGES = ("notebook", "datasets", "duckdb", "matplotlib")


def missing():
    """Returns the folders of packages that are not installed."""
    return [name for name in PACKAGES if not (training.CACHE / name).is_dir()]


def environment(folder):
    """Returns variables for a process that executes notebooks and exports fleets, and writes only below `folder`."""
    packages = [str(training.CACHE / name) for name in PACKAGES]
    return {"PYTHONPATH": os.pathsep.join([*packages, str(training.ROOT / "python")]), "PYTHONWARNINGS": "ignore",
            **{name: str(pathlib.Path(folder) / name.lower())
               for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}}


def fleet_plots(run):
    """Returns the text of the notebook with its plots."""
    more = environment(run.folder)
    run.run(GENERATOR, "fleet-traces", *FLEET)
    run.run(training.COMMAND, "export", "fleet-traces", "--to", "parquet", "-o", "fleet", "--python", training.PYTHON, **more)
    script = pathlib.Path(__file__).parent / "execute_notebook.py"
    return run.run(training.PYTHON, script, FOLDER / "fleet-plots.ipynb", **more)
