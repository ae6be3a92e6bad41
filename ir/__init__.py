"""What each stage is: data type, text form, verifier and exact evaluator; one package a language."""
