//! Reference values of laws that are made of others; made by `reference.py`.

pub const TABLE: &str = "
mixture [0.25,0.75] normal (0,1) normal (3,0.5) | 1 | -2.8019198821940187793
mixture [0.25,0.75] normal (0,1) normal (3,0.5) | 60 | -1802.3052328943245634
mixture [1,3] normal (0,1) cauchy (3,0.5) | -60 | -10.4118915778187473
mixture [1,3] normal (0,1) cauchy (3,0.5) | 1e10 | -48.177260998142040091
mixture [2] gamma (2,3) | 0.5 | 0.0040773967762740733733
mixture [1,1,2] poisson (1) poisson (40) binomial (50,0.5) | 7 | -10.909025963847188903
mixture [1,0] normal (0,1) normal (3,0.5) | 3 | -5.4189385332046727418
mixture [1e-300,1] normal (0,1) normal (3,1e-3) | 0 | -691.69446643141837792
truncate normal -1 2 0.5 1 | 0.25 | -0.80676332634349564217
truncate normal 10 11 0 1 | 10.5 | -2.8126283076215478814
truncate normal -11 -10 0 1 | -10.125 | 1.0545591923784521186
truncate normal -inf -3 0 1 | -5 | -6.8112123116943231985
truncate normal 40 inf 0 1 | 41 | -36.810496519450884575
truncate normal -inf inf 0 1 | 3 | -5.4189385332046727418
truncate expon 2 5 3 | 2.5 | -0.4012642939121871891
truncate expon -7 1e-9 3 | 5e-10 | 20.723265836946411094
truncate poisson 2 6 4 | 2 | -1.6945957207744072274
truncate poisson 1.5 inf 4 | 7 | -2.7250543685426184083
truncate poisson -inf 3 40 | 2 | -2.6661570312265746573
truncate binomial 20 30 100 0.5 | 25 | -5.3238051655340111583
censor normal -1 2 0.5 1 | 0.25 | -0.95018853320467274178
censor normal -1 2 0.5 1 | -1 | -2.705944400823889807
censor normal -1 2 0.5 1 | 2 | -2.705944400823889807
censor normal -40 inf 0 1 | -40 | -804.60844201375378817
censor normal -inf 30 0 1 | 30 | -454.32124395634319711
censor expon -inf 5 3 | 5 | -15.0
censor expon 1e-9 5 3 | 1e-9 | -19.624653549778301402
censor poisson 2 6 4 | 2 | -1.4350506425384632639
censor poisson 2 6 4 | 6 | -1.5377238861246580168
censor poisson 2 6 4 | 3 | -1.6328763858683831443
censor poisson -inf 60 4 | 60 | -109.3827682225104177
";
