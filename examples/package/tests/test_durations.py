"""What the package has to do. The tests stand outside of what is judged, so that no worker can weaken them."""

import unittest

from durations.parse import parse, parse_or, total
from durations.show import show


class Parsing(unittest.TestCase):
    def test_units_add_up(self):
        self.assertEqual(parse("1h 30m"), 5400)
        self.assertEqual(parse("2d4h"), 187200)

    def test_other_texts_are_refused(self):
        for text in ("", "soon", "5", "1h and a bit"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse(text)

    def test_a_default_stands_in_for_them(self):
        self.assertEqual(parse_or("soon", 7), 7)


class Showing(unittest.TestCase):
    def test_the_shortest_text(self):
        self.assertEqual(show(5400), "1h 30m")
        self.assertEqual(show(0), "0s")

    def test_what_is_shown_can_be_parsed(self):
        for seconds in (0, 1, 59, 60, 3661, 90061):
            self.assertEqual(parse(show(seconds)), seconds)


class Totals(unittest.TestCase):
    def test_what_is_no_duration_does_not_count(self):
        self.assertEqual(total(["1h", "soon", "30m"]), (5400, ["1h", "30m"]))

    def test_two_totals_know_nothing_of_each_other(self):
        total(["1h"])
        self.assertEqual(total(["5m"]), (300, ["5m"]))


if __name__ == "__main__":
    unittest.main()
