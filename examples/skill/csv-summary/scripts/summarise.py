"""Summarise a CSV file: python3 scripts/summarise.py FILE"""

import argparse
import csv


def numbers(rows, column):
    """The values of a column as numbers, None when one of them is no number."""
    try:
        return [float(row[column]) for row in rows if row[column] != ""]
    except ValueError:
        return None


def main():
    parser = argparse.ArgumentParser(prog="summarise.py", description="Summarise a CSV file with a header line.")
    parser.add_argument("file", help="the CSV file")
    parser.add_argument("--separator", default=",", metavar="CHAR", help="what parts two columns (default: a comma)")
    args = parser.parse_args()
    with open(args.file, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter=args.separator))
    print(f"rows: {len(rows)}")
    for column in rows[0] if rows else []:
        values = numbers(rows, column)
        if values:
            mean = sum(values) / len(values)
            print(f"{column}: {min(values):g} to {max(values):g}, mean {mean:.2f}, {len(values)} values")
        else:
            print(f"{column}: text, {len({row[column] for row in rows})} different values")


if __name__ == "__main__":
    main()
