"""spark-submit entry point of a cut, for who submits from a checkout: `jobs.cut` of the package."""

import sys

from tidemark.jobs.cut import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
