"""spark-submit entry point of maintenance, for who submits from a checkout."""

import sys

from tidemark.jobs.maintain import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
