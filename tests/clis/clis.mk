# The real codex, claude and gemini against a model service of our own on 127.0.0.1.
.PHONY: test-clis
test-clis:
	tests/clis/install.sh
	HONESTONE_TEST_CLIS=1 .venv/bin/pytest tests/clis -q
