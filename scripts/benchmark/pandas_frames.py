"""Group, join, sort and pivot tables of pandas, and write and read them as CSV. Run by scripts/bench. The first argument
is the folder with pandas, the second the number of rounds."""
import io
import sys

sys.path.insert(0, sys.argv[1])

# pylint: disable=wrong-import-position
import numpy
import pandas

ROWS = 100_000


def one_round(seed):
    random = numpy.random.default_rng(seed)
    sales = pandas.DataFrame({"town": random.integers(0, 500, ROWS), "kind": random.choice(list("abcdef"), ROWS),
                              "price": random.random(ROWS)})
    towns = pandas.DataFrame({"town": range(500), "name": [f"town {number}" for number in range(500)]})
    joined = sales.merge(towns, on="town").sort_values(["name", "price"])
    joined["upper"] = joined["name"].str.upper()
    by_kind = joined.pivot_table(index="name", columns="kind", values="price", aggfunc="mean")
    text = joined.head(ROWS // 5).to_csv(index=False)
    again = pandas.read_csv(io.StringIO(text))
    lowest = again.groupby("name")["price"].apply(lambda prices: prices.nsmallest(3).sum())
    return float(by_kind.sum().sum() + lowest.sum())


def main():
    total = sum(one_round(seed) for seed in range(int(sys.argv[2])))
    print(f"total {total:.6f}")


if __name__ == "__main__":
    main()
