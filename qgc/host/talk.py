"""What is said without a launch: greetings, questions about the model, and what it cannot do."""

from __future__ import annotations

from random import Random

REFUSAL = "I can only compute: integers and vectors. Ask me for a sum or a dot product."

_PAIRS = (
    ("hi | hello | hey | hi there | hello there | good morning | good evening | good day | hey there", "Hello! What shall I compute?"),
    ("how are you | how are you doing | how do you do | are you well | how is it going", "I am fine, thank you. What shall I compute?"),
    ("thanks | thank you | thank you very much | great, thanks | thanks a lot | many thanks | perfect, thank you", "You are welcome."),
    ("bye | goodbye | see you | see you later | good night | that is all", "Goodbye!"),
    ("ok | great | nice | cool | good | well done | very good | wow", "Thank you. What is next?"),
    (
        "who are you | what are you | what is your name | tell me about yourself | are you a robot | are you human | introduce yourself",
        "I am a small model with a GPU in my weights. I turn questions into expressions, and the GPU computes them.",
    ),
    (
        "what can you do | help | how can you help me | what do you know | what are you good at | how do I use you | what can I ask you",
        "I can add, multiply, sort, take dot products and more. Try: what is [1, 2, 3] @ [4, 5, 6]?",
    ),
)  # fmt: skip

_VERBS = "tell me | write | explain | give me | do you know | show me | can you write | can you tell me | I want | let us talk about"
_THINGS = (
    "a joke | a poem | a story about a cat | the weather | the news | a song | the capital of France | the history of Rome | how plants grow"
    " | a recipe for bread | the meaning of life | a letter to my friend | something about music | about your day | the best film | a good book"
    " | who won the game | how to cook rice | the name of the king | what love is"
)
_OTHERS = (
    "what is the weather like | what is the capital of Spain | who is the president | where do you live | why is the sky blue"
    " | when did the war end | translate this into French | what time is it | what day is it today | how old are you | do you like music"
    " | what is your favourite colour | who wrote Hamlet | play a song | I am sad | I am bored | I love you | where is Berlin"
    " | what should I eat | is there life on Mars | write a program | open the door | call my mother | what is love"
)


def small_talk(rng: Random) -> tuple[str, str]:
    """A remark and its answer; one in two is something that the model cannot do."""
    if rng.random() < 0.5:
        remarks, answer = rng.choice(_PAIRS)
        return rng.choice(remarks.split(" | ")), answer
    if rng.random() < 0.5:
        return rng.choice(_OTHERS.split(" | ")), REFUSAL
    return f"{rng.choice(_VERBS.split(' | '))} {rng.choice(_THINGS.split(' | '))}", REFUSAL
