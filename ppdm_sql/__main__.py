"""Lets ``python -m ppdm_sql`` stand for ``ppdm``."""

from ppdm_sql.cli import main

if __name__ == "__main__":
    try:
        main()
    finally:
        # A KeyboardInterrupt that left code given as text, such as that of a dataclass, makes Python end by
        # the signal, whatever exit code was said after it; more code as text makes it forget.
        exec("")
