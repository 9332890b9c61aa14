"""Lets ``python -m ppdm_sql`` stand for ``ppdm``."""

from ppdm_sql.cli import main

if __name__ == "__main__":
    main()
