# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Verdicts on claims and kinds of evidence: their names and what they mean."""

VERDICTS = ("holds", "near", "differs", "not testable")
"""Every verdict, the best first."""

EVIDENCE = {
    "predicted": "a mechanism of a model gives the value from inputs that do not contain it",
    "recovered": "it follows from inputs, or from a preset that was chosen by the claim or calibrated to it",
    "recomputed": "arithmetic on the paper's own numbers",
}
"""Every kind of evidence and what it means, the strongest first; their counts are never added up."""
