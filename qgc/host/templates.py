"""How a person asks: every kind of question as an expression, and the many ways to say it.

Two kinds of template. A *noun phrase* ("the sum of {a} and {b}") goes into any frame ("what is ...", "tell me ..."); a
*sentence* stands alone. What begins with `!` is held out: no training text is ever made from it.

Places: {a} {b} {c} are integers, {v} {w} vectors of equal length, {m} {n} square matrices. `{v}` is written in brackets
where an expression has it, and in one of several ways where a person has it.
"""

from __future__ import annotations

from dataclasses import dataclass

HELD_OUT = "!"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of question.

    Attributes:
        name: also the category of the evaluation.
        expression: what the model must write, with the places of the question.
        nouns, sentences: templates, separated by ` | `.
        answers: what is said when the result is there, with the place {r}; two of them (yes, no) when `is_truth`.
        small: the largest absolute value of an integer; 0 for the usual mix of lengths.
    """

    name: str
    expression: str
    nouns: str
    sentences: str
    answers: str
    small: int = 0
    is_truth: bool = False
    signed: bool = True


KINDS: tuple[Kind, ...] = (
    Kind(
        "add",
        "{a} + {b}",
        "{a} plus {b} | {a} + {b} | the sum of {a} and {b} | {a} and {b} together | {a} added to {b}"
        " | {a} increased by {b} | the total of {a} and {b} | {a} more than {b} | the result of adding {a} and {b}"
        " | !the result of {a} plus {b} | !{a} and {b} added together",
        "add {a} and {b} | add {a} to {b} | add up {a} and {b} | sum {a} and {b} | {a} + {b} = | put {a} and {b} together"
        " | if I have {a} apples and get {b} more, how many do I have | what do you get if you add {a} and {b}"
        " | how many are {a} and {b} in total | I had {a} coins and found {b} more, how many coins do I have now"
        " | Tom has {a} books and Anna has {b}, how many books do they have together"
        " | !what do I get when I add {a} to {b} | !add the numbers {a} and {b}",
        "The sum is {r}. | That makes {r}.",
    ),
    Kind(
        "subtract",
        "{a} - {b}",
        "{a} minus {b} | {a} - {b} | the difference of {a} and {b} | the difference between {a} and {b}"
        " | {a} less {b} | {a} decreased by {b} | {a} reduced by {b} | the result of subtracting {b} from {a}"
        " | !the result of {a} minus {b} | !{b} subtracted from {a}",
        "subtract {b} from {a} | take {b} away from {a} | take {b} from {a} | {a} - {b} = | remove {b} from {a}"
        " | if I have {a} apples and eat {b}, how many are left | what is left of {a} when I take away {b}"
        " | I had {a} coins and lost {b}, how many coins are left | what do you get if you subtract {b} from {a}"
        " | !what do I get when I take {b} from {a} | !how much is left when {b} is taken away from {a}",
        "The difference is {r}. | That leaves {r}.",
    ),
    Kind(
        "multiply",
        "{a} * {b}",
        "{a} times {b} | {a} * {b} | {a} x {b} | the product of {a} and {b} | {a} multiplied by {b} | {a} by {b}"
        " | the result of multiplying {a} and {b} | {a} multiplied with {b} | !the result of {a} times {b}"
        " | !what {a} multiplied by {b} gives",
        "multiply {a} by {b} | multiply {a} and {b} | multiply {a} with {b} | {a} * {b} = | {a} x {b} ="
        " | {a} boxes hold {b} apples each, how many apples are there | what do you get if you multiply {a} by {b}"
        " | there are {a} rows of {b} seats, how many seats are there | what does {a} times {b} make"
        " | !what do I get when I multiply {a} and {b} | !multiply the numbers {a} and {b}",
        "The product is {r}. | That makes {r}.",
    ),
    Kind(
        "divide",
        "{a} // {b}",
        "{a} divided by {b} | {a} // {b} | {a} / {b} | {a} over {b} | the quotient of {a} and {b} | the ratio of {a} to {b}"
        " | the integer part of {a} divided by {b} | the result of dividing {a} by {b} | !the whole part of {a} divided by {b}"
        " | !the result of {a} divided by {b}",
        "divide {a} by {b} | {a} / {b} = | how often does {b} go into {a} | how many times does {b} fit into {a}"
        " | split {a} into {b} equal parts | share {a} apples among {b} people, how many does each get"
        " | what do you get if you divide {a} by {b} | !what do I get when I divide {a} by {b} | !divide the number {a} by {b}",
        "The quotient is {r}. | That makes {r}.",
        signed=False,
    ),
    Kind(
        "remainder",
        "{a} % {b}",
        "{a} mod {b} | {a} modulo {b} | {a} % {b} | the remainder of {a} divided by {b} | the remainder of {a} by {b}"
        " | the remainder when {a} is divided by {b} | the rest of {a} divided by {b} | the remainder of dividing {a} by {b}"
        " | !the rest when {a} is divided by {b} | !the value of {a} mod {b}",
        "what remains when {a} is divided by {b} | what is left over when {a} is divided by {b} | {a} % {b} ="
        " | what remainder does {a} leave when divided by {b} | divide {a} by {b} and give me the remainder"
        " | reduce {a} modulo {b} | !what remains if you divide {a} by {b} | !divide {a} by {b} and tell me the remainder",
        "The remainder is {r}. | It leaves {r}.",
    ),
    Kind(
        "power",
        "{a} ** {b}",
        "{a} to the power of {b} | {a} ** {b} | {a} ^ {b} | {a} to the power {b} | {a} raised to {b}"
        " | {a} raised to the power of {b} | the {b}th power of {a} | power {b} of {a} | !{a} raised to the power {b}"
        " | !the value of {a} to the power of {b}",
        "raise {a} to the power of {b} | raise {a} to {b} | {a} ** {b} = | multiply {a} by itself {b} times"
        " | !raise {a} to the power {b} | !raise the number {a} to the power of {b}",
        "The power is {r}. | It comes to {r}.",
        small=30,
        signed=False,
    ),
    Kind(
        "dot",
        "{v} @ {w}",
        "the dot product of {v} and {w} | {v} dot {w} | {v} @ {w} | the scalar product of {v} and {w}"
        " | the inner product of {v} and {w} | the dot product of the vectors {v} and {w} | {v} dotted with {w}"
        " | the dot product between {v} and {w} | !the inner product of the vectors {v} and {w} | !the scalar product between {v} and {w}",
        "dot {v} with {w} | take the dot product of {v} and {w} | multiply {v} and {w} element by element and add it up"
        " | {v} @ {w} = | form the scalar product of {v} with {w} | !form the dot product of {v} and {w}"
        " | !take the inner product of {v} with {w}",
        "The dot product is {r}. | It is {r}.",
    ),
    Kind(
        "vector add",
        "{v} + {w}",
        "{v} plus {w} | {v} + {w} | the sum of {v} and {w} | the vector sum of {v} and {w} | {v} added to {w}"
        " | the sum of the vectors {v} and {w} | !the vector {v} plus the vector {w} | !the result of {v} plus {w}",
        "add {v} and {w} | add {v} to {w} | add the vectors {v} and {w} | add {v} and {w} element by element | {v} + {w} ="
        " | what do you get if you add {v} and {w} | !add the vector {v} to {w} | !what do I get when I add {v} and {w}",
        "The vector sum is {r}. | That gives {r}.",
    ),
    Kind(
        "vector subtract",
        "{v} - {w}",
        "{v} minus {w} | {v} - {w} | the difference of {v} and {w} | the difference between {v} and {w}"
        " | the difference of the vectors {v} and {w} | !the vector {v} minus the vector {w} | !the result of {v} minus {w}",
        "subtract {w} from {v} | take {w} from {v} | subtract the vector {w} from {v} | {v} - {w} ="
        " | what do you get if you subtract {w} from {v} | !subtract the vector {w} from the vector {v}",
        "The vector difference is {r}. | That gives {r}.",
    ),
    Kind(
        "vector multiply",
        "{v} * {w}",
        "{v} times {w} | {v} * {w} | the product of {v} and {w} element by element | the elementwise product of {v} and {w}"
        " | {v} multiplied by {w} element by element | !the elementwise product of the vectors {v} and {w}",
        "multiply {v} and {w} element by element | multiply {v} by {w} elementwise | {v} * {w} ="
        " | multiply the vectors {v} and {w} elementwise | !multiply the vectors {v} and {w} element by element",
        "The elementwise product is {r}. | That gives {r}.",
    ),
    Kind(
        "scale",
        "{a} * {v}",
        "{a} times {v} | {a} * {v} | {v} scaled by {a} | {v} multiplied by {a} | {a} times the vector {v}"
        " | !the vector {v} multiplied by {a} | !the vector {v} scaled by {a}",
        "scale {v} by {a} | multiply {v} by {a} | multiply every element of {v} by {a} | {a} * {v} ="
        " | multiply each number in {v} by {a} | !scale the vector {v} by {a} | !multiply each element of {v} by {a}",
        "The scaled vector is {r}. | That gives {r}.",
    ),
    Kind(
        "matrix product",
        "{m} @ {n}",
        "the matrix product of {m} and {n} | {m} @ {n} | {m} times {n} | the product of the matrices {m} and {n}"
        " | {m} multiplied by {n} | !the product of the matrix {m} and the matrix {n} | !the matrix {m} times the matrix {n}",
        "multiply the matrices {m} and {n} | multiply {m} by {n} | {m} @ {n} = | multiply the matrix {m} by {n}"
        " | take the matrix product of {m} and {n} | !multiply the matrix {m} by the matrix {n}",
        "The matrix product is {r}. | The matrix is {r}.",
    ),
    Kind(
        "sum",
        "sum({v})",
        "the sum of {v} | sum({v}) | the total of {v} | the sum of the numbers {v} | the sum of all elements of {v}"
        " | the sum of the list {v} | all of {v} added together | !the total of the list {v} | !the sum of all numbers in {v}",
        "sum {v} | add up {v} | add up the numbers {v} | sum up {v} | add all the numbers in {v} | add {v} together"
        " | what do {v} add up to | what is {v} in total | !add up all the numbers in {v} | !sum up the list {v}",
        "The sum is {r}. | The total is {r}.",
    ),
    Kind(
        "product",
        "prod({v})",
        "the product of {v} | prod({v}) | the product of the numbers {v} | the product of all elements of {v}"
        " | the product of the list {v} | all of {v} multiplied together | !the product of all numbers in {v}",
        "multiply {v} together | multiply all the numbers in {v} | multiply the numbers {v} | multiply all of {v}"
        " | multiply up {v} | !multiply all elements of {v} together | !multiply the numbers {v} together",
        "The product is {r}. | It comes to {r}.",
        small=20,
    ),
    Kind(
        "minimum",
        "min({v})",
        "the minimum of {v} | min({v}) | the smallest of {v} | the smallest number in {v} | the least of {v}"
        " | the lowest number in {v} | the smallest element of {v} | the min of {v} | the minimum of the list {v}"
        " | !the lowest of {v} | !the least element of {v}",
        "which number in {v} is the smallest | which of {v} is the smallest | minimum of {v} | smallest of {v}"
        " | which of {v} is lowest | !which element of {v} is the smallest | !which number in {v} is lowest",
        "The smallest is {r}. | The minimum is {r}.",
    ),
    Kind(
        "maximum",
        "max({v})",
        "the maximum of {v} | max({v}) | the largest of {v} | the largest number in {v} | the greatest of {v}"
        " | the highest number in {v} | the largest element of {v} | the max of {v} | the biggest of {v}"
        " | the maximum of the list {v} | !the highest of {v} | !the biggest element of {v}",
        "which number in {v} is the largest | which of {v} is the biggest | maximum of {v} | largest of {v}"
        " | which of {v} is highest | !which element of {v} is the largest | !which number in {v} is highest",
        "The largest is {r}. | The maximum is {r}.",
    ),
    Kind(
        "sort",
        "sort({v})",
        "{v} sorted | sort({v}) | the sorted list of {v} | {v} in ascending order | {v} in order | {v} from small to large"
        " | the numbers {v} in ascending order | !the list {v} in ascending order | !the numbers {v} from small to large",
        "sort {v} | sort the numbers {v} | put {v} in order | order {v} | arrange {v} in ascending order | sort the list {v}"
        " | order the numbers {v} from small to large | bring {v} into order | !put the list {v} in ascending order"
        " | !sort the numbers in {v} from small to large",
        "Sorted: {r}. | In order: {r}.",
    ),
    Kind(
        "reverse",
        "reverse({v})",
        "{v} reversed | reverse({v}) | the reverse of {v} | {v} backwards | {v} in reverse order | the list {v} backwards"
        " | !the numbers {v} in reverse order | !the reverse of the list {v}",
        "reverse {v} | turn {v} around | reverse the order of {v} | reverse the list {v} | flip {v} | list {v} backwards"
        " | read {v} backwards | !reverse the numbers {v} | !turn the list {v} around",
        "Reversed: {r}. | Backwards: {r}.",
    ),
    Kind(
        "running sum",
        "cumsum({v})",
        "the running sum of {v} | cumsum({v}) | the cumulative sum of {v} | the prefix sums of {v} | the partial sums of {v}"
        " | the running total of {v} | the cumulative sums of the list {v} | !the running totals of {v} | !the prefix sums of the list {v}",
        "accumulate {v} | take the running sum of {v} | form the cumulative sum of {v} | cumsum of {v}"
        " | !form the running sum of {v} | !take the cumulative sum of the list {v}",
        "The running sum is {r}. | Step by step: {r}.",
    ),
    Kind(
        "length",
        "len({v})",
        "the length of {v} | len({v}) | the number of elements in {v} | the number of elements of {v} | the size of {v}"
        " | the length of the list {v} | !the number of elements in the list {v} | !the size of the list {v}",
        "how many numbers are in {v} | how long is {v} | how many elements does {v} have | count the elements of {v}"
        " | count {v} | how many elements are in {v} | !how many numbers does {v} have | !count the numbers in {v}",
        "The length is {r}. | There are {r}.",
    ),
    Kind(
        "range",
        "range({a})",
        "the first {a} integers from 0 | range({a}) | the range of {a} | the numbers from 0 below {a}"
        " | the integers from 0 below {a} | the list of numbers below {a} | !the list of integers from 0 below {a}"
        " | !the first {a} numbers from 0",
        "count from 0 up to but not {a} | list the first {a} integers from 0 | list the numbers from 0 below {a}"
        " | list all integers below {a} | !list all numbers from 0 below {a}",
        "The list is {r}. | Here it is: {r}.",
        small=20,
        signed=False,
    ),
    Kind(
        "gcd",
        "gcd({a}, {b})",
        "the gcd of {a} and {b} | gcd({a}, {b}) | the greatest common divisor of {a} and {b} | the greatest common factor of {a} and {b}"
        " | the largest common divisor of {a} and {b} | the highest common factor of {a} and {b} | gcd of {a} and {b}"
        " | !the largest common factor of {a} and {b} | !the gcd of the numbers {a} and {b}",
        "which is the largest number that divides both {a} and {b} | what is the biggest number that divides {a} and {b}"
        " | which greatest common divisor do {a} and {b} have | !what is the largest number that divides both {a} and {b}",
        "The greatest common divisor is {r}. | It is {r}.",
        signed=False,
    ),
    Kind(
        "lcm",
        "lcm({a}, {b})",
        "the lcm of {a} and {b} | lcm({a}, {b}) | the least common multiple of {a} and {b} | the smallest common multiple of {a} and {b}"
        " | the lowest common multiple of {a} and {b} | lcm of {a} and {b} | !the lcm of the numbers {a} and {b}"
        " | !the smallest common multiple of the numbers {a} and {b}",
        "which is the smallest number that both {a} and {b} divide | which least common multiple do {a} and {b} have"
        " | what is the smallest multiple of both {a} and {b} | !what is the least number that both {a} and {b} divide",
        "The least common multiple is {r}. | It is {r}.",
        small=2000,
        signed=False,
    ),
    Kind(
        "prime",
        "isprime({a})",
        "whether {a} is prime | isprime({a}) | if {a} is a prime number | whether {a} is a prime | !if {a} is prime",
        "is {a} prime | is {a} a prime number | is {a} a prime | is the number {a} prime | check if {a} is prime"
        " | would you say {a} is prime | check whether {a} is a prime number | test {a} for being prime | is it true that {a} is prime"
        " | !is the number {a} a prime number | !check whether {a} is prime",
        "Yes, it is prime. | No, it is not prime.",
        is_truth=True,
        signed=False,
    ),
    Kind(
        "fibonacci",
        "fib({a})",
        "the {a}th Fibonacci number | fib({a}) | Fibonacci number {a} | Fibonacci of {a} | the Fibonacci number with index {a}"
        " | the Fibonacci number at position {a} | number {a} of the Fibonacci sequence | !the {a}th number of the Fibonacci sequence"
        " | !the Fibonacci number number {a}",
        "which Fibonacci number has index {a} | which number is at position {a} in the Fibonacci sequence"
        " | !which Fibonacci number is at position {a}",
        "The Fibonacci number is {r}. | It is {r}.",
        small=46,
        signed=False,
    ),
    Kind(
        "popcount",
        "popcount({a})",
        "the popcount of {a} | popcount({a}) | the number of one bits in {a} | the number of set bits in {a}"
        " | the number of ones in binary {a} | the bit count of {a} | !the count of set bits in {a} | !the number of set bits of {a}",
        "how many bits of {a} are set | how many one bits does {a} have | count the set bits of {a} | count the ones in binary {a}"
        " | how many bits are set in {a} | !how many set bits does {a} have | !count the one bits of {a}",
        "The number of set bits is {r}. | It has {r} bits set.",
        signed=False,
    ),
    Kind(
        "absolute",
        "abs({a})",
        "the absolute value of {a} | abs({a}) | the magnitude of {a} | {a} without its sign | the absolute of {a}"
        " | !the absolute value of the number {a} | !the magnitude of the number {a}",
        "how far is {a} from zero | drop the sign of {a} | remove the sign of {a} | !how far from zero is {a}",
        "The absolute value is {r}. | It is {r}.",
    ),
    Kind(
        "greater",
        "{a} > {b}",
        "whether {a} is greater than {b} | if {a} is larger than {b} | whether {a} is bigger than {b} | {a} > {b} | !if {a} is greater than {b}",
        "is {a} greater than {b} | is {a} larger than {b} | is {a} bigger than {b} | is {a} more than {b} | is {a} > {b}"
        " | does {a} exceed {b} | is it true that {a} is larger than {b} | check if {a} is bigger than {b} | is the number {a} greater than {b}"
        " | !is it true that {a} is greater than {b} | !check if {a} is larger than {b}",
        "Yes, it is greater. | No, it is not greater.",
        is_truth=True,
    ),
    Kind(
        "less",
        "{a} < {b}",
        "whether {a} is less than {b} | if {a} is smaller than {b} | {a} < {b} | !if {a} is less than {b}",
        "is {a} less than {b} | is {a} smaller than {b} | is {a} below {b} | is {a} < {b} | is {a} lower than {b}"
        " | is it true that {a} is smaller than {b} | check if {a} is less than {b} | is the number {a} smaller than {b}"
        " | !is it true that {a} is less than {b} | !check if {a} is smaller than {b}",
        "Yes, it is less. | No, it is not less.",
        is_truth=True,
    ),
    Kind(
        "equal",
        "{a} == {b}",
        "whether {a} equals {b} | if {a} is equal to {b} | {a} == {b} | !whether {a} is equal to {b}",
        "is {a} equal to {b} | does {a} equal {b} | is {a} the same as {b} | are {a} and {b} equal | is {a} == {b}"
        " | check if {a} equals {b} | is it true that {a} equals {b} | !are {a} and {b} the same | !check if {a} is equal to {b}",
        "Yes, they are equal. | No, they are not equal.",
        is_truth=True,
    ),
    Kind(
        "sum then times",
        "({a} + {b}) * {c}",
        "the sum of {a} and {b} times {c} | ({a} + {b}) * {c} | {a} plus {b}, all times {c} | the sum of {a} and {b}, multiplied by {c}"
        " | !the result of {a} plus {b}, all multiplied by {c}",
        "add {a} and {b}, then multiply by {c} | add {a} to {b} and multiply the result by {c} | multiply the sum of {a} and {b} by {c}"
        " | first add {a} and {b}, then multiply by {c} | !first add {a} to {b}, then multiply the result by {c}",
        "The result is {r}. | That makes {r}.",
        small=999,
    ),
    Kind(
        "times then add",
        "{a} * {b} + {c}",
        "{a} times {b} plus {c} | {a} * {b} + {c} | the product of {a} and {b} plus {c} | {a} multiplied by {b} plus {c}"
        " | !the result of {a} times {b} plus {c}",
        "multiply {a} by {b}, then add {c} | multiply {a} and {b} and add {c} to the result | add {c} to the product of {a} and {b}"
        " | first multiply {a} and {b}, then add {c} | !first multiply {a} by {b}, then add {c} to the result",
        "The result is {r}. | That makes {r}.",
        small=999,
    ),
)

FRAMES = (
    "{} | {} = | what is {} | what's {} | compute {} | calculate {} | tell me {} | give me {} | find {} | I need {}"
    " | I want to know {} | can you compute {} | can you tell me {} | could you tell me {} | could you compute {}"
    " | please tell me {} | please work out {} | how much is {} | what would {} be | work out {} | do you know {}"
    " | let me know {} | I would like to know {} | show me {} | evaluate {} | determine {} | can you find {} for me"
    " | please give me {} | would you calculate {} | I want you to compute {} | help me find {} | so what is {}"
    " | !please find {} | !could you work out {} for me | !I want you to tell me {} | !I need to know {} | !would you give me {}"
)
"""Where a noun phrase goes."""

TRUTH_FRAMES = (
    "tell me {} | can you tell me {} | I want to know {} | find out {} | let me know {} | check {} | do you know {}"
    " | please tell me {} | could you tell me {} | I would like to know {} | !please let me know {} | !I need to know {}"
)
"""Where a noun phrase of a yes-or-no question goes ("whether 7 is prime")."""

OPENINGS = (
    "{} | {} | {} | {} | {} | please {} | hi, {} | hello, {} | now {} | ok, {} | and {} | hey, {} | quick question: {} | next: {}"
    " | {} please | {} for me | {} now"
)
"""What comes around a sentence, in training; an evaluation has the bare sentence."""


def templates(text: str, is_held_out: bool) -> list[str]:
    """The templates of a list separated by ` | `, those in training or those held out; the mark is taken off."""
    parts = [part.strip() for part in text.split(" | ")]
    return [part.removeprefix(HELD_OUT) for part in parts if part.startswith(HELD_OUT) is is_held_out]
