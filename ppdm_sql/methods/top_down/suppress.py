"""PDA: suppress values so that no rule `IC -> pi` is more confident than its template allows.

Source: Wang, Fung, Yu 2005, "Template Based Privacy Preservation in Classification Problems", ICDM.
The same descent keeps every other monotone privacy model, alone or together with templates.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.arrays import Counts
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.cuts import Cut, SuppressionCut
from ppdm_sql.methods.top_down.loop import State
from ppdm_sql.methods.top_down.maskings import Masking, Suppression
from ppdm_sql.methods.top_down.outcome import Move, Outcome
from ppdm_sql.methods.top_down.request import RefinementRequest
from ppdm_sql.methods.top_down.run import RefinementRun
from ppdm_sql.methods.top_down.score import Rounding, nine_digits, twelve_decimals
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release


def suppress(engine: Engine, source: str, request: RefinementRequest, progress: Progress) -> Release:
    return SuppressionRun(engine, source, request, progress).publish()


class SuppressionRun(RefinementRun):
    """A run in which every attribute of a requirement is suppressed."""

    method = "PDA"

    @property
    def rounding(self) -> Rounding:
        return twelve_decimals if self.literal and self.has_class else nine_digits

    def mask(self, position: int, name: str, counts: Counts) -> Masking:
        return Suppression(self.atoms.coded[position], counts, self.request.symbol, self.worth)

    def complete(self, state: State, cuts: Sequence[Cut]) -> tuple[Sequence[Move], Sequence[Cut]]:
        """Disclose what is left where the source needs no protection: the table is released whole.

        The descent leaves values suppressed that would not help the classifier. That costs nothing where
        something must be hidden, but a table that keeps every requirement as it is has nothing to hide.
        """
        moves: list[Move] = []
        if state.stopped != "complete" or not bool(self.constraints.valid(self.detail)):
            return moves, cuts
        whole = list(cuts)
        for attribute, cut in enumerate(cuts):
            most = self.wishes.most[attribute]
            fits = most is None or len(cut.nodes) <= most
            if isinstance(cut, SuppressionCut) and len(cut.suppressed) and fits:
                codes = cut.suppressed.tolist()
                whole[attribute] = cut.disclose(codes)
                moves.append((attribute, 0, [code + 1 for code in codes], 0.0, 0.0, 0.0))
        return moves, whole

    def release_measures(self, outcome: Outcome) -> Sequence[information.Row]:
        return [
            *information.values_disclosed(outcome),
            *self.class_information(outcome),
            *information.suppressed_cells(outcome, self.atoms.records),
        ]
