"""Examples that run as they stand, and are tested so; copy one and change it.

* `web_app.py`: a FastAPI service that streams its answers.
* `lambda_function.py`, and `build_lambda.py`, which makes it a package that AWS Lambda takes, and checks its size.
* `tour.ipynb`: a notebook.
* `reindex.sh`: keeps an index up to date with a folder, by cron.
"""
