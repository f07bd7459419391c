"""`python -m sfumato`, and the `sfumato` command."""

from sfumato.cli.app import app


def main() -> None:
    """Run the command line."""
    app(prog_name="sfumato")


if __name__ == "__main__":
    main()
