"""The providers of a promptfoo config, as targets and as the columns of its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from honestone.core.suite.case import Case, OutputForm, TargetSpec
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, listed
from honestone.interop.promptfoo.layers import ConfigFiles, Layer, last_of
from honestone.interop.promptfoo.prompts import Prompt
from honestone.interop.promptfoo.providers import Provider, read_provider


class Columns:
    """The providers of a config. One that is a target here too is a column of the suite."""

    def __init__(self, files: ConfigFiles) -> None:
        self.reading, self.siblings = files.reading, files.siblings
        self.providers: list[Provider] = []
        self._pinned: dict[str, Provider] = {}
        """Providers of single tests, by their columns."""
        self.named_providers: list[Provider] = []
        self.untaken: list[str] = []
        """Why each provider that cannot be a target was not taken."""

    def read(self, top: FileEntry) -> None:
        """Reads the providers that the config lists."""
        self.providers = list(self._listed(top))

    def _listed(self, top: FileEntry) -> Iterator[Provider]:
        key = str(top.which("providers", "targets"))
        value = top.raw("providers", "targets")
        entries = listed(value)
        if not entries:
            self.reading.note(
                "promptfoo: no provider is named: --target says what produces the outputs"
            )
        for index, entry in enumerate(entries):
            path = (*top.path, key, index) if isinstance(value, list) else (*top.path, key)
            provider = self.provider(self.reading, path, entry)
            if provider is not None:
                yield provider

    def _note_unseen(self, provider: str, unseen: Sequence[str]) -> None:
        """A provider that is code may read variables that are in no prompt. Another target never
        sees them, so that tests which differ in them alone ask it the same.
        """
        if unseen:
            names = ", ".join(f"`{name}`" for name in unseen)
            is_one = len(unseen) == 1
            these, are = ("the variable", "is") if is_one else ("the variables", "are")
            self.reading.note(
                f"promptfoo: {these} {names} {are} in no template: no target but `{provider}` sees what is in it"
            )

    def targets(
        self,
        cases: Sequence[Case],
        prompts: Sequence[Prompt],
        unseen: Callable[[], Sequence[str]],
    ) -> list[TargetSpec]:
        """The providers that are targets here too, each a column with each of its prompts. Others
        are not lost: `--target` chooses. `unseen` gives the variables of tests that are in no
        template.
        """
        is_pinned = all(set(case.targets) & self._pinned.keys() for case in cases)
        providers = [*([] if is_pinned else self.providers), *self._pinned.values()]
        has_columns = len(providers) > 1 or any(case.targets for case in cases)
        targets: list[TargetSpec] = []
        for provider in providers:
            use = provider.use
            if use is None:
                self.reading.note(
                    f"promptfoo: the target is not taken from `{provider.id}`: {provider.why_not}; --target names one"
                )
                self.untaken.append(f"not `{provider.id}`: {provider.why_not}")
                self._note_unseen(provider.id, unseen())
                continue
            self.reading.note(f"promptfoo: provider `{provider.id}` is the target `{use}`")
            label = provider.label or (provider.id if has_columns else None)
            # promptfoo cuts the white space around what a program prints.
            output: OutputForm = "trimmed" if provider.id.startswith("exec:") else "text"
            spec = TargetSpec(
                use=use,
                label=label,
                parameters=provider.parameters,
                output=output,
                base_url=provider.base_url,
                api_key_env=provider.api_key_env,
                prompts=_prompts_of(provider, prompts),
            )
            if spec in targets:
                self.reading.note(
                    f"promptfoo: provider `{provider.id}` is named twice; its cases run once"
                )
            else:
                targets.append(spec)
        return targets

    def of_test(self, prompts: Sequence[Prompt], layers: Sequence[Layer]) -> tuple[str, ...] | None:
        """The providers that a test with these prompts is for, by their columns: none named where it
        is for all of them, None where it is for none.
        """
        own = last_of(layers, lambda layer: layer.provider)
        if own is not None:
            self._pinned.setdefault(own.column, own)
            return (own.column,)
        chosen = last_of(layers, lambda layer: layer.providers)
        found = [
            one.column
            for one in self.providers
            if (one.prompts is None or any(prompt.is_among(one.prompts) for prompt in prompts))
            and (chosen is None or any(one.is_meant(name) for name in chosen))
        ]
        if len(found) == len(self.providers):
            return ()
        return tuple(dict.fromkeys(found)) or None

    def provider(self, reading: FileReading, path: Steps, entry: object) -> Provider | None:
        provider = read_provider(reading, path, entry, self.siblings)
        if provider is not None:
            self.named_providers.append(provider)
        return provider


def _prompts_of(provider: Provider, prompts: Sequence[Prompt]) -> tuple[str, ...] | None:
    """The prompts that a provider is for, where there are several to choose from; None: all."""
    names = provider.prompts
    if names is None or len(prompts) < 2:
        return None
    return tuple(prompt.id for prompt in prompts if prompt.is_among(names))
