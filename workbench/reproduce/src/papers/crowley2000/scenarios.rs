// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5: three scenarios on the processors with eight units and on CMP2-8 (figures 5 to 8).

use mb_netproc::contract::{Application, Classifier};
use mb_packets::{Mix, Sizes};

use super::arithmetic::measured_mean;
use super::experiment::{PaperChip, Work};
use super::extremes::{ALMOST, EQUAL};
use super::model::Model;
use super::table2::by_sizes;
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, differs, fact, measure};
use crate::error::MeasureError;
use crate::statistics::{correlation, mean, variation};
use crate::verdict::Measured;

const SHARES: &str = "The share of 3DES decides: {crowley2000.t6.router_des3:.0} % of the router's packets and \
     {crowley2000.t6.web_des3:.0} % of the web switch's. The tables of the paper give the same order \
     (contradiction 26). Lengths of packets were varied, with those chosen by Table 2 too.";
const WORKERS: &str = "Our 3DES takes {crowley2000.t2.des3_insts:.0} instructions for a packet of the Internet mix, and the paper's \
     {crowley2000.t2.des3_insts.published}, so that workers limit the scenarios where the paper has the OS thread \
     limit them, and the units of workers decide: 6 on CMP2, 7 on CMP, 14 on CMP2-8, and 8 on the SMT less what \
     the OS thread takes. Lengths chosen by Table 2 lower it. Fetch policy, idle threads, \
     registers, bursts, caches, who classifies and order of issue were varied one at a time; study crowley2000_figures says which verdicts change.";
const TREND: &str = "Windows hold the same packets on every processor, and what makes a window slow is 3DES, on \
     CMP as on CMP2. Bursts of 4, 16 and 64 packets were tried.";

const SMT: PaperChip = PaperChip::Smt(8);
const CMP: PaperChip = PaperChip::Cmp(8);
const CMP2: PaperChip = PaperChip::Cmp2(4);
const CMP2_8: PaperChip = PaperChip::Cmp2(8);
/// The scenarios, in the order of Table 6.
pub(super) const MIXES: [Mix; 3] = [Mix::Router, Mix::WebSwitch, Mix::Vpn];

pub(super) const TESTS: &[ClaimTest<Model>] = &[
    differs(
        "crowley2000.scen.order_load",
        |model: &Model| {
            by_sizes(model, |sizes| {
                let [router, web, vpn] = MIXES.map(|mix| measured_mean(model, mix, sizes));
                let (router, web, vpn) = (router?, web?, vpn?);
                let shown = format!("{router:.0}, {web:.0} and {vpn:.0} instructions for a packet");
                Ok(Measured::Fact(router < web && web < vpn, shown))
            })
        },
        SHARES,
    ),
    differs("crowley2000.router.smt_over_cmp", |model: &Model| lead(model, SMT, CMP, Mix::Router), WORKERS),
    measure("crowley2000.router.cmp2_eq_cmp", |model: &Model| {
        by_sizes(model, |sizes| Ok(Measured::Number(ratio(model, CMP2, CMP, Mix::Router, sizes)?)))
    }),
    differs(
        "crowley2000.router.cmp2_variable",
        |model: &Model| {
            let [smt, cmp, cmp2] = PaperChip::THREE.map(|chip| model.windows(chip, Mix::Router, Sizes::Imix));
            let (smt, cmp, cmp2) = (smt?, cmp?, cmp2?);
            let trend = correlation(&cmp, &cmp2);
            let [smt, cmp, cmp2] = [smt, cmp, cmp2].map(|windows| variation(&windows));
            let shown = format!(
                "deviation of a window CMP2 {cmp2:.2}, CMP {cmp:.2}, SMT {smt:.2} of the mean; correlation of CMP2 \
             with CMP {trend:.2}"
            );
            fact(cmp2 > cmp && cmp2 > smt && trend < 0.0, shown)
        },
        TREND,
    ),
    measure("crowley2000.router.cmp2_peaks", |model: &Model| {
        let [smt, cmp2] = [SMT, CMP2].map(|chip| model.windows(chip, Mix::Router, Sizes::Imix));
        let (smt, cmp2) = (smt?, cmp2?);
        let best = cmp2.iter().zip(&smt).map(|(cmp2, smt)| cmp2 / smt).fold(0.0, f64::max);
        fact(best > 1.0, format!("in the best window {best:.2} times the SMT's rate"))
    }),
    differs("crowley2000.web.smt_over_cmp2", |model: &Model| lead(model, SMT, CMP2, Mix::WebSwitch), WORKERS),
    differs("crowley2000.web.smt_over_cmp", |model: &Model| lead(model, SMT, CMP, Mix::WebSwitch), WORKERS),
    differs("crowley2000.web.cmp2_over_cmp", |model: &Model| lead(model, CMP2, CMP, Mix::WebSwitch), WORKERS),
    differs(
        "crowley2000.web.slower_than_router",
        |model: &Model| {
            by_sizes(model, |sizes| {
                let mut so = true;
                let mut shown = Vec::new();
                for chip in PaperChip::THREE {
                    let web = model.scenario(chip, Mix::WebSwitch, sizes)?;
                    let router = model.scenario(chip, Mix::Router, sizes)?;
                    so &= web < router;
                    shown.push(format!("{} {:.2}", chip.name(), web / router));
                }
                Ok(Measured::Fact(so, format!("web over router: {}", shown.join(", "))))
            })
        },
        WORKERS,
    ),
    measure("crowley2000.web.variability", |model: &Model| {
        let [router, web] = [Mix::Router, Mix::WebSwitch].map(|mix| deviation(model, CMP2, mix, Sizes::Imix));
        let (router, web) = (router?, web?);
        let (low, mean, high) = relative(model, CMP2, CMP, Mix::WebSwitch, Sizes::Imix)?;
        let shown = format!("deviation {web:.2} against {router:.2}; over CMP {low:.2} to {high:.2} around {mean:.2}");
        fact(web < router && high - mean > mean - low, shown)
    }),
    differs(
        "crowley2000.vpn.smt_barely_cmp",
        |model: &Model| {
            by_sizes(model, |sizes| {
                let lead = ratio(model, SMT, CMP, Mix::Vpn, sizes)? - 1.0;
                Ok(Measured::Fact(lead > 0.0 && lead <= ALMOST, format!("{:.1} % faster", 100.0 * lead)))
            })
        },
        WORKERS,
    ),
    measure("crowley2000.vpn.cmp_over_cmp2", |model: &Model| {
        by_sizes(model, |sizes| {
            let ratio = ratio(model, CMP, CMP2, Mix::Vpn, sizes)?;
            Ok(Measured::Fact(ratio > 1.0 + EQUAL, format!("{ratio:.2} times as fast")))
        })
    }),
    measure("crowley2000.vpn.no_variability", |model: &Model| {
        let [smt, cmp, cmp2] = PaperChip::THREE.map(|chip| deviation(model, chip, Mix::Vpn, Sizes::Imix));
        let (smt, cmp, cmp2) = (smt?, cmp?, cmp2?);
        let so = cmp2 <= smt.max(cmp) * (1.0 + ALMOST);
        fact(so, format!("deviation of a window CMP2 {cmp2:.2}, CMP {cmp:.2}, SMT {smt:.2}"))
    }),
    differs(
        "crowley2000.vpn.order_of_magnitude",
        |model: &Model| {
            let over = |mix, sizes| {
                let rates = [mix, Mix::Vpn].map(|mix| model.scenario(SMT, mix, sizes));
                let [ours, vpn] = rates;
                Ok::<_, MeasureError>(Measured::Number(ours? / vpn?))
            };
            let mut all = by_sizes(model, |sizes| over(Mix::Router, sizes))?;
            all[0].name = "router over VPN, SMT".into();
            all.insert(1, Interpretation::new("web switch over VPN, SMT", over(Mix::WebSwitch, Sizes::Imix)?));
            Ok(all)
        },
        WORKERS,
    ),
    differs("crowley2000.cmp28.router", |model: &Model| lead(model, CMP2_8, CMP2, Mix::Router), WORKERS),
    differs("crowley2000.cmp28.web", |model: &Model| lead(model, CMP2_8, CMP2, Mix::WebSwitch), WORKERS),
    differs("crowley2000.cmp28.vpn", |model: &Model| lead(model, CMP2_8, CMP2, Mix::Vpn), WORKERS),
    measure("crowley2000.cmp28.variability", |model: &Model| {
        let (low, mean, high) = relative(model, CMP2_8, CMP, Mix::Router, Sizes::Imix)?;
        let so = low >= 1.0 - EQUAL && high > 1.0 + EQUAL;
        fact(so, format!("over CMP {low:.2} to {high:.2}, on average {mean:.2}"))
    }),
    measure("crowley2000.cmp28.over_cmp_osbound", |model: &Model| {
        let limit = model.rate(CMP, Work::Null, Classifier::Dpf)?;
        let [cmp, cmp28] = [CMP, CMP2_8].map(|chip| model.windows(chip, Mix::Router, Sizes::Imix));
        let (cmp, cmp28) = (cmp?, cmp28?);
        // The OS limits a window if it is as fast as that of packets that are dropped.
        let bound: Vec<f64> = cmp
            .iter()
            .zip(&cmp28)
            .filter(|(cmp, _)| **cmp >= limit * (1.0 - ALMOST))
            .map(|(cmp, cmp28)| cmp28 / cmp)
            .collect();
        let least = bound.iter().copied().fold(f64::INFINITY, f64::min);
        let shown = format!("{} windows limited by the OS, in them at least {least:.2} times CMP", bound.len());
        fact(!bound.is_empty() && least > 1.0, shown)
    }),
    differs("crowley2000.router.smt_over_cmp2", |model: &Model| lead(model, SMT, CMP2, Mix::Router), WORKERS),
    measure("crowley2000.sum.os_dominates_light", |model: &Model| {
        let mut so = true;
        let mut shown = Vec::new();
        for chip in PaperChip::THREE {
            let light = model.rate(chip, Work::Alone(Application::IpForward), Classifier::Dpf)?;
            let share = light / model.rate(chip, Work::Null, Classifier::Dpf)?;
            so &= share >= 1.0 - ALMOST;
            shown.push(format!("{} {share:.2}", chip.name()));
        }
        fact(so, format!("IP-FORWARD over packets that are dropped: {}", shown.join(", ")))
    }),
    measure("crowley2000.cmp28.par_with_smt", |model: &Model| {
        by_sizes(model, |sizes| {
            let ratios = MIXES.map(|mix| ratio(model, CMP2_8, SMT, mix, sizes));
            all(ratios, |ratio| ratio >= 1.0, "over SMT")
        })
    }),
    measure("crowley2000.sum.smt_best", |model: &Model| {
        by_sizes(model, |sizes| {
            let ratios =
                MIXES.map(|mix| Ok(ratio(model, SMT, CMP, mix, sizes)?.min(ratio(model, SMT, CMP2, mix, sizes)?)));
            all(ratios, |ratio| ratio > 1.0, "over the better of CMP and CMP2")
        })
    }),
    differs(
        "crowley2000.sum.cmp_vs_cmp2",
        |model: &Model| {
            by_sizes(model, |sizes| {
                let [router, web, vpn] = MIXES.map(|mix| ratio(model, CMP2, CMP, mix, sizes));
                let (router, web, vpn) = (router?, web?, vpn?);
                let shown = format!("CMP2 over CMP: router {router:.2}, web switch {web:.2}, VPN node {vpn:.2}");
                Ok(Measured::Fact(router >= 1.0 && web > 1.0 && vpn < 1.0, shown))
            })
        },
        WORKERS,
    ),
    measure("crowley2000.sum.n_plus_1", |model: &Model| {
        by_sizes(model, |sizes| {
            let ratio = ratio(model, SMT, PaperChip::Cmp(9), Mix::Vpn, sizes)?;
            Ok(Measured::Fact((ratio - 1.0).abs() <= ALMOST, format!("VPN node: SMT(8) {ratio:.2} times CMP(9)")))
        })
    }),
];

/// One rate over another.
pub(super) fn ratio(
    model: &Model,
    chip: PaperChip,
    over: PaperChip,
    mix: Mix,
    sizes: Sizes,
) -> Result<f64, MeasureError> {
    Ok(model.scenario(chip, mix, sizes)? / model.scenario(over, mix, sizes)?)
}

fn lead(model: &Model, chip: PaperChip, over: PaperChip, mix: Mix) -> Interpretations {
    by_sizes(model, |sizes| Ok(Measured::Number(ratio(model, chip, over, mix, sizes)? - 1.0)))
}

/// Whether all three scenarios are as `holds` says, and their ratios.
fn all(ratios: [Result<f64, MeasureError>; 3], holds: fn(f64) -> bool, over: &str) -> Result<Measured, MeasureError> {
    let [router, web, vpn] = ratios;
    let (router, web, vpn) = (router?, web?, vpn?);
    let shown = format!("{over}: router {router:.2}, web switch {web:.2}, VPN node {vpn:.2}");
    Ok(Measured::Fact([router, web, vpn].into_iter().all(holds), shown))
}

/// Lowest, mean and highest ratio of two chips' windows.
fn relative(
    model: &Model,
    chip: PaperChip,
    over: PaperChip,
    mix: Mix,
    sizes: Sizes,
) -> Result<(f64, f64, f64), MeasureError> {
    let (ours, theirs) = (model.windows(chip, mix, sizes)?, model.windows(over, mix, sizes)?);
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((least, mean(&ratios), ratios.iter().copied().fold(0.0, f64::max)))
}

/// Standard deviation of windows over their mean.
fn deviation(model: &Model, chip: PaperChip, mix: Mix, sizes: Sizes) -> Result<f64, MeasureError> {
    Ok(variation(&model.windows(chip, mix, sizes)?))
}
