//! Log densities against values of 20 digits from mpmath (the program is at the end of this
//! file), at the middle of each law, deep in its tails and at extreme parameters.

mod distributions_common;

use distributions_common::{Call, value};

/// A distribution with its arguments | a value | the log density there.
const TABLE: &str = "
bernoulli | 0 | -0.69314718055994530942
bernoulli 0.3 | 1 | -1.2039728043259360296
bernoulli 0.3 | 0 | -0.35667494393873236305
bernoulli 1e-300 | 1 | -690.77552789821370518
bernoulli 1e-20 | 0 | -9.9999999999999994516e-21
bernoulli 1 | 1 | 0.0
bernoulli 0 | 0 | 0.0
bernoulli 0.9999999999999999 | 0 | -36.736800569677101399
flip | true | -0.69314718055994530942
flip 0.3 | true | -1.2039728043259360296
flip 0.3 | false | -0.35667494393873236305
flip 1e-300 | true | -690.77552789821370518
flip 1e-20 | false | -9.9999999999999994516e-21
flip 1 | true | 0.0
flip 0 | false | 0.0
flip 0.9999999999999999 | false | -36.736800569677101399
binomial 10 0.3 | 3 | -1.321151277766888636
binomial 10 0.3 | 0 | -3.5667494393873236305
binomial 10 1e-10 | 0 | -1.0000000000500000364e-9
binomial 10 0.3 | 10 | -12.039728043259360296
binomial 0 0.3 | 0 | 0.0
binomial 1000 0.999 | 990 | -16.140051082180784689
binomial 1000000000 0.3 | 300000000 | -10.500247577859036198
binomial 1000000000 0.3 | 300100000 | -34.30835520968950745
binomial 1000000000 0.3 | 1000 | -356660980.09943379217
binomial 1000000000 0.9999999 | 999999890 | -3.754056068510816107
binomial 1000000000 1e-9 | 7 | -9.5251613755654139688
binomial 1000000000 0.1234567 | 123456789 | -10.168791377182999537
binomial 1000000000000000 0.5 | 500000010000000 | -17.695179550100070126
binomial 20 1e-200 | 3 | -1374.5122722550388693
geometric 0.3 | 0 | -1.2039728043259360296
geometric 0.3 | 7 | -3.700697411897062571
geometric 1e-12 | 1000000000000 | -28.631021115929048208
geometric 1e-300 | 5 | -690.77552789821370518
geometric 1 | 0 | 0.0
geometric 0.999999 | 1000 | -13815.51055893551894
geometric 0.5 | 1000000000 | -693147181.25309248998
geometric 1e-5 | 0 | -11.512925464970228338
negative_binomial 3 0.5 | 0 | -2.0794415416798359283
negative_binomial 3 0.5 | 4 | -2.1439800628174070999
negative_binomial 0.001 0.01 | 12 | -9.5148520304702049251
negative_binomial 2.5 0.2 | 1000 | -217.08832229612413875
negative_binomial 1e10 0.999999 | 10000 | -5.5241175575261339016
negative_binomial 1e6 0.5 | 1000300 | -8.1959891249186115507
negative_binomial 1e-8 0.3 | 2 | -19.82717781442950358
negative_binomial 5 1 | 0 | 0.0
negative_binomial 7.25 1e-9 | 3000000000 | -23.909124477457181439
poisson 4 | 0 | -4.0
poisson 0 | 0 | 0.0
poisson 4 | 3 | -1.6328763858683831443
poisson 4 | 60 | -109.45051175647815406
poisson 1e-300 | 1 | -690.77552789821370518
poisson 1e8 | 100000000 | -10.129278906014188811
poisson 1e8 | 100050000 | -22.627446030878399941
poisson 1e8 | 50000000 | -15342650.754708051097
poisson 1e8 | 0 | -100000000.0
poisson 15.5 | 16 | -2.3184197232774578196
poisson 0.001 | 200 | -2244.7840429888328797
poisson 1e15 | 1000000030000000 | -18.638326741160015298
categorical [0.2,0.3,0.5] | 1 | -1.2039728043259360296
categorical [2,3,5] | 2 | -0.69314718055994530942
categorical [1e-300,1] | 0 | -690.77552789821370518
categorical [1e300,1e-300] | 1 | -1381.5510557964274104
categorical [7] | 0 | 0.0
categorical [0,0,4] | 2 | 0.0
categorical [1e-310,3e-310] | 1 | -0.28768207245178092744
categorical [1,1,1,1,1,1,1] | 6 | -1.9459101490553133051
uniform_discrete 0 10 | 3 | -2.302585092994045684
uniform_discrete -5 5 | -5 | -2.302585092994045684
uniform_discrete 3 4 | 3 | 0.0
uniform_discrete 0 1000000000 | 77 | -20.723265836946411156
uniform_discrete -1000000000000000 1000000000000000 | 0 | -35.23192357547063057
uniform_discrete 1 7 | 6 | -1.7917594692280550008
uniform_discrete 0 2 | 1 | -0.69314718055994530942
uniform_discrete 10 13 | 12 | -1.0986122886681096914
normal 0 1 | 0.5 | -1.0439385332046727418
normal 0 1 | 40 | -800.91893853320467274
normal 1 2 | -3 | -3.6120857137646180512
normal 5 1e-10 | 5.000000001 | -27.893095877301654502
normal 0 1e10 | 1 | -23.944789463145129582
normal 0 1 | 1e150 | -4.9999999999999998084e+299
normal 1e8 0.5 | 100000001 | -2.2257913526447274324
normal -2 3e-300 | -2 | 688.75797707634092269
normal 0 1 | -8 | -32.918938533204672742
uniform_continuous 0 1 | 0.5 | 0.0
uniform_continuous -1 3 | 3 | -1.3862943611198906188
uniform_continuous 0 1e-300 | 0 | 690.77552789821370518
uniform_continuous 0 1e300 | 1 | -690.77552789821370526
uniform_continuous -1e308 1e308 | 0 | -709.889355822726016
uniform_continuous 1 1.0000000001 | 1.00000000005 | 23.025850847200089264
uniform_continuous 2 10 | 2.5 | -2.0794415416798359283
uniform_continuous -5 -4 | -4.25 | 0.0
beta 2 3 | 0.25 | 0.52324814376454783652
beta 1 1 | 0.7 | 0.0
beta 0.5 0.5 | 1e-300 | 344.24303406325745242
beta 1e-3 1e-3 | 0.5 | -6.2159927502495766503
beta 1e-3 2e-3 | 0.999999 | 6.4746634314029115285
beta 1e6 1e6 | 0.501 | 3.028533391604041793
beta 1e6 1e6 | 0.5 | 7.0285373916173822744
beta 1e9 3 | 0.999999998 | 19.416413020506355667
beta 15 1e8 | 1e-7 | 15.465651513130244284
beta 12 1e10 | 3e-9 | 12.936714246950280169
beta 1 3 | 0 | 1.0986122886681096914
beta 3 1 | 1 | 1.0986122886681096914
beta 1e-8 5 | 0.1 | -16.53953771578214272
beta 300 20 | 0.01 | -1301.7810365433703253
beta 1e10 3e10 | 0.25001 | 1.4576186196293041658
gamma 2 1 | 0.5 | -1.1931471805599453094
gamma 1e-3 1 | 1e-200 | 453.14932269482647401
gamma 1e-3 5 | 0.3 | -7.2028006159498094122
gamma 1e6 1 | 1000000 | -7.8266938955201431272
gamma 1e6 1 | 1005000 | -20.290170397957570099
gamma 1e6 1e-3 | 1.1e9 | -4704.6499550294486428
gamma 1 3 | 0.2 | 0.49861228866810965809
gamma 0.5 1e-300 | 1e290 | -679.83496737626817689
gamma 1e10 1e5 | 100001 | -1.4189451998546728751
gamma 25 2 | 1e-20 | -1142.6968945212556161
gamma 25 1e-200 | 1e-200 | -22620.118640739760023
gamma 3.5 2 | 500 | -983.23843822433178629
gamma 19.5 1e100 | 2e-99 | 227.81846985119230475
inv_gamma 3 2 | 1 | -0.61370563888010938117
inv_gamma 1e-3 1 | 1e200 | -467.88471450279179958
inv_gamma 1e6 1e6 | 1.001 | 5.4884830795769916576
inv_gamma 1e6 1 | 1e-6 | 19.804327220408405126
inv_gamma 2 1 | 0.001 | -979.27673416305356809
inv_gamma 30 1e-3 | 1e100 | -7416.5034856181737409
inv_gamma 0.5 1e-300 | 1e-300 | 689.20316295528900509
inv_gamma 5 1e8 | 3e7 | -17.708231081678028469
expon 1 | 0 | 0.0
expon 2.5 | 0.4 | -0.083709268125844990328
expon 1e-300 | 1e300 | -691.77552789821370526
expon 1e300 | 1e-300 | 689.77552789821370518
expon 3 | 1000 | -2998.9013877113318903
expon 1 | 1 | -1.0
expon 0.1 | 1e5 | -10002.302585092994601
expon 1e10 | 1 | -9999999976.9741490701
student_t 4 | 1.5 | -2.0965470095827750157
student_t 4 1 | 1.5 | -1.1323908075528133433
student_t 4 1 2 | -30 | -11.953721258079175303
student_t 1e10 | 5 | -13.418938518854672766
student_t 1e10 | 1e6 | -23075602587.432796046
student_t 1e-3 | 2 | -8.2990145105313808413
student_t 1 0 1e-200 | 1e200 | -1382.6957856822768105
student_t 3 | 1e200 | -1840.8717386675238374
student_t 0.5 0 3 | 0 | -2.4091452145796192096
student_t 39.5 -2 0.25 | -1 | -6.4256401745663441278
student_t 1e6 0 1 | 30 | -450.71700999887259554
cauchy 0 1 | 0 | -1.1447298858494001741
cauchy 1 2 | 5 | -3.4473149788434458582
cauchy 0 1 | 1e200 | -922.17876708346767372
cauchy 0 1e-200 | 1e200 | -1382.6957856822768105
cauchy 0 1e200 | 1e-200 | -461.66174848465853695
cauchy -3 0.5 | -3.0000001 | -0.45158270528949486473
cauchy 0 1 | 1e10 | -47.196431745730313855
cauchy 10 1e5 | -1e8 | -26.473167108783192699
laplace 0 1 | 0 | -0.69314718055994530942
laplace 1 2 | -4 | -3.8862943611198906188
laplace 0 1 | 1e5 | -100000.69314718055995
laplace 0 1e-300 | 1e-299 | 680.0823807176537602
laplace 0 1e300 | 1 | -691.46867507877365057
laplace -7 0.1 | -7.3 | -1.390562087565897738
laplace 5 3 | 5.0000001 | -1.7917595025613884276
laplace 0 1 | -745 | -745.69314718055994531
logistic_dist 0 1 | 0 | -1.3862943611198906188
logistic_dist 1 2 | 4 | -2.5959737365254501284
logistic_dist 0 1 | 1000 | -1000.0
logistic_dist 0 1 | -1000 | -1000.0
logistic_dist 0 1e-300 | 3e-300 | 687.67835319506622091
logistic_dist 5 1e300 | 1 | -692.16182225933359588
logistic_dist -2 0.3 | -1 | -2.1994653611663236021
logistic_dist 0 1 | 40 | -40.000000000000000008
lognormal 0 1 | 1 | -0.91893853320467274178
lognormal 1 2 | 0.001 | -2.5209046288162130037
lognormal 0 1 | 1e300 | -239277.10943795932889
lognormal 0 1 | 1e-300 | -237895.55838216290143
lognormal -3 0.1 | 0.05 | 4.3784681588924655678
lognormal 0 1e10 | 5 | -25.554227375579229957
lognormal 500 10 | 1e200 | -471.53307132664177331
lognormal 2 0.01 | 7.4 | 1.6737996494634573243
weibull 1.5 1 | 0.5 | -0.29466187276508203493
weibull 1 2 | 3 | -2.1931471805599453094
weibull 0.01 1 | 1e-200 | 451.29667822683295401
weibull 50 2 | 2.1 | -5.8578059165833293133
weibull 0.5 1e-300 | 1e-301 | 690.91744549813394475
weibull 3 1e300 | 1e-10 | -2117.2796732658539197
weibull 2 5 | 100 | -397.92055845832016407
weibull 1 3 | 0 | -1.0986122886681096914
weibull 1000 1 | 0.999 | 5.5405600209612224795
weibull 2 1 | 1e-300 | -690.08238071765375987
chi_squared 3 | 2 | -1.5723649429247000871
chi_squared 2 | 0 | -0.69314718055994530942
chi_squared 1e-3 | 1e-100 | 222.54241941388826499
chi_squared 1e6 | 1000500 | -8.2362466186511431313
chi_squared 1 | 1000 | -504.37281617269574127
chi_squared 100 | 3 | -126.8911008296047766
chi_squared 1e10 | 1.0001e10 | -37.776871041795207958
chi_squared 7.5 | 1e-5 | -35.746667534361339896
half_normal 1 | 0 | -0.22579135264472743236
half_normal 1 | 40 | -800.22579135264472743
half_normal 2.5 | 1 | -1.2220820845188824975
half_normal 1e-300 | 1e-300 | 690.04973654556897775
half_normal 1e300 | 1 | -691.00131925085843269
half_normal 1 | 1e100 | -5.000000000000000159e+199
half_normal 0.1 | 0.3 | -2.4232062596506809712
half_normal 7 | 20 | -6.2533341547612652273
half_cauchy 1 | 0 | -0.45158270528945486473
half_cauchy 2 | 5 | -3.1257313547159835825
half_cauchy 1 | 1e200 | -921.48561990290772841
half_cauchy 1e-200 | 1e200 | -1382.0026385017168652
half_cauchy 1e200 | 1e-200 | -460.96860130409859164
half_cauchy 25 | 24 | -4.3236167025012376565
half_cauchy 0.01 | 3 | -7.253988579663148768
half_cauchy 1 | 1e-10 | -0.45158270528945486474
half_student_t 4 1 | 0 | -0.28768207245178092744
half_student_t 3 2.5 | 7 | -3.7932938156245003852
half_student_t 1e10 1 | 6 | -18.225791322069727507
half_student_t 1e-3 1 | 1 | -6.9124021427856573033
half_student_t 3 1 | 1e200 | -1840.1785914869638921
half_student_t 7 0.01 | 1 | -24.716736696163910232
half_student_t 1 1e-200 | 1e200 | -1382.0026385017168652
half_student_t 30 4 | 0.5 | -1.6284883210130969225
truncated_normal 0 1 0 2 | 1 | -0.67922344035233726882
truncated_normal 0 1 -1 2 | 0.3 | -0.7637722388802101585
truncated_normal 0 1 10 11 | 10.5 | -2.8126283076215478814
truncated_normal 0 1 40 inf | 40.01 | 3.2894534805491950255
truncated_normal 0 1 -inf -40 | -40.3 | -8.3554965194507700357
truncated_normal 0 1 -inf inf | 3 | -5.4189385332046727418
truncated_normal 5 2 -inf 4 | 3 | -0.93617395217099944232
truncated_normal 0 1 1e6 inf | 1000000.000001 | 12.81550294347140404
truncated_normal 0 1 3 3.0000001 | 3.00000005 | 16.118095652594894662
truncated_normal 0 1 -1e-9 1e-9 | 0 | 20.030118656386465785
truncated_normal 0 1 -1e-9 30 | 4 | -8.2257913534426119928
truncated_normal 0 1 2 2.9 | 2.5 | -0.17518182764118406301
truncated_normal 0 1 2 2.5 | 2.25 | 0.6517568448263520824
truncated_normal 0 1 0 1.9 | 1 | -0.6666429510698204326
truncated_normal 0 1 0 2.1 | 1 | -0.68940861385927290705
truncated_normal 1e5 3 0 1 | 0.5 | -5546.1981980004048622
truncated_normal 0 0.001 5 6 | 5.0000001 | 14.924948503996213817
truncated_normal -3 2 7 100 | 8 | -1.6720873197758923151
vonmises 0 2 | 1 | -1.5812659961560223317
vonmises 0 0 | 3 | -1.8378770664093454836
vonmises 1 1e6 | 1.001 | 5.4888166624441772221
vonmises 1 1e6 | -2 | -1989986.5077838246799
vonmises -3 1e-10 | 3 | -1.8378770663133284549
vonmises 3 29.9 | -3 | -0.41517080611849715324
vonmises 3 30.1 | -3 | -0.41977464718451013347
vonmises 100 5 | 0.5 | -2.5726019177872082882
vonmises 0 300 | 0.1 | 0.4337849239961553405
vonmises 0 1e12 | 3e-6 | 8.3965720247628511343
vonmises 0.5 0.01 | -1.5 | -1.8420635346185686436
multivariate_normal [0,0] [1,0;0,1] | [1,2] | -4.3378770664093454836
multivariate_normal [1,-1] [2,0.5;0.5,1] | [0.3,0.4] | -3.6576849603770568755
multivariate_normal [0,0,0] [4,1,0.5;1,3,0.2;0.5,0.2,1] | [1,-2,0.5] | -5.0696321952367058035
multivariate_normal [0,0] [1,0.999;0.999,1] | [2,-2] | -3998.7303229546738562
multivariate_normal [0,0] [1e10,0;0,1e-10] | [1e5,1e-5] | -2.8378770664093455654
multivariate_normal [3] [4;] | [50] | -277.73708571376461805
multivariate_normal [0,0] [1,0.3;0.3,1] | [1e6,-3e6] | -6483516483518.2741541
multivariate_normal [1,2,3] [1,0,0;0,1,0;0,0,1] | [1,2,3] | -2.7568155996140182253
multivariate_diag_normal [0,0] [1,1] | [1,2] | -4.3378770664093454836
multivariate_diag_normal [1,-1] [2,0.5] | [0.3,0.4] | -5.8191270664093456098
multivariate_diag_normal [0] [1e-10] | [3e-10] | 17.60691239673578445
multivariate_diag_normal [0,0] [1e10,1e-10] | [1e10,1e-9] | -52.337877066409348105
multivariate_diag_normal [5,5,5] [1,2,3] | [40,-40,0] | -871.56246395773096212
multivariate_diag_normal [0,1] [1e100,1] | [1,1] | -232.0963863658139139
multivariate_diag_normal [0,0] [3,4] | [1e8,1] | -555555555555559.90959
multivariate_diag_normal [1,2,3,4] [1,1,1,1] | [1,2,3,4.5] | -3.8007541328186909671
wishart [1,0;0,1] 4 | [3,1;1,5] | -5.9046427627216067951
wishart [2,0.5;0.5,1] 2.5 | [1,0.2;0.2,0.5] | -3.4299152611642891166
wishart [4,1,0.5;1,3,0.2;0.5,0.2,1] 10 | [40,8,4;8,35,1;4,1,9] | -18.853537367505602635
wishart [1,0;0,1] 1.001 | [1e-5,0;0,1e-5] | 13.576124872122233043
wishart [0.5;] 3 | [2;] | -1.5326441720847821229
wishart [1,0;0,1] 1000 | [1000,10;10,1010] | -13.901798481199778113
wishart [1e-6,0;0,1e6] 5 | [5e-6,0.1;0.1,5e6] | -6.1043079713504849027
wishart [1,0.99;0.99,1] 3 | [3,2.9;2.9,3] | -3.1378829863932641295
inv_wishart [1,0;0,1] 5 | [0.5,0.1;0.1,0.4] | -0.048279941542321253288
inv_wishart [2,0.5;0.5,1] 2.5 | [1,0.2;0.2,0.5] | -1.5317898424229619642
inv_wishart [4,1,0.5;1,3,0.2;0.5,0.2,1] 10 | [0.8,0.1,0.05;0.1,0.6,0.01;0.05,0.01,0.2] | 1.4689313015393165263
inv_wishart [1,0;0,1] 1.001 | [1e5,0;0,1e5] | -55.501427917699137314
inv_wishart [0.5;] 3 | [2;] | -3.8165272554444539794
inv_wishart [1000,10;10,1010] 1000 | [1,0.01;0.01,1.02] | 6.8568372335680711018
inv_wishart [1e-6,0;0,1e6] 5 | [5e-6,0.1;0.1,5e6] | -17.396766727597595399
inv_wishart [1,0.99;0.99,1] 3 | [0.3,0.29;0.29,0.3] | 4.8053905383984605953
dirichlet [1,1,1] | [0.2,0.3,0.5] | 0.69314718055994530942
dirichlet [2,3,4] | [0.125,0.25,0.625] | 1.8576551013004260913
dirichlet [1e-3,1e-3,1e-3] | [1e-100,0.5,0.5] | 216.49904093543835176
dirichlet [1e6,2e6,1e6] | [0.25,0.5,0.25] | 15.096795616574682513
dirichlet [1e6,2e6,1e6] | [0.251,0.498,0.251] | -16.907436407297609858
dirichlet [100,1,5] | [0.9375,0,0.0625] | 7.1206214417155371402
dirichlet [0.5,200] | [0.0009765625,0.9990234375] | 5.3474737538825856383
dirichlet [1,1] | [0,1] | 0.0
dirichlet [1e-8,5] | [0.75,0.25] | -23.678176098023634461
dirichlet [1e9,10,0.1] | [0.99999999,9e-9,1e-9] | 36.167012693810527079
symmetric_dirichlet 1 3 | [0.2,0.3,0.5] | 0.69314718055994530942
symmetric_dirichlet 0.5 2 | [0.25,0.75] | -0.30774166906356440101
symmetric_dirichlet 1e-3 3 | [1e-200,1e-100,1] | 675.1706344488899087
symmetric_dirichlet 1e6 2 | [0.501,0.499] | 3.028533391604041793
symmetric_dirichlet 1e6 4 | [0.25,0.25,0.25,0.25] | 22.818480188752010097
symmetric_dirichlet 30 2 | [0.1,0.9] | -27.810671723790812765
symmetric_dirichlet 7 1 | [1] | 0.0
symmetric_dirichlet 12.5 4 | [0.5,0.25,0.125,0.125] | -2.1123792893552363223
multinomial 10 [0.2,0.3,0.5] | [2,3,5] | -2.4645159601402662834
multinomial 10 [0.2,0.3,0.5] | [10,0,0] | -16.094379124341003191
multinomial 10 [0.2,0.3,0.5] | [0,1,9] | -5.1397123363713981304
multinomial 0 [0.5,0.5] | [0,0] | 0.0
multinomial 5 [1] | [5] | 0.0
multinomial 1000000000 [0.25,0.25,0.5] | [250000000,250000000,500000000] | -20.828274952705893366
multinomial 1000000000 [0.2,0.3,0.5] | [200010000,299990000,500000000] | -21.224536639890057244
multinomial 1000000 [1e-6,0.999999] | [3,999997] | -2.7917599692293883694
multinomial 100 [0.5,0,0.5] | [40,0,60] | -4.524155638860027414
multinomial 30 [1e-100,0.5,0.5] | [2,14,14] | -456.34249285169474935
flat | 3 | 0.0
flat | -1e300 | 0.0
flat | 0 | 0.0
flat | 1e-300 | 0.0
flat | 1e300 | 0.0
flat | -1 | 0.0
flat | 7.5 | 0.0
flat | 1e10 | 0.0
flat_pos | 3 | 0.0
flat_pos | 1e-300 | 0.0
flat_pos | 1e300 | 0.0
flat_pos | 1 | 0.0
flat_pos | 0.5 | 0.0
flat_pos | 7 | 0.0
flat_pos | 1e10 | 0.0
flat_pos | 1e-10 | 0.0
";

fn rows() -> impl Iterator<Item = (Call, &'static str, f64)> {
    TABLE.lines().filter(|line| !line.is_empty()).map(|line| {
        let [call, x, want] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        (Call::new(call), x, want.parse().expect("a number"))
    })
}

/// Relative error allowed; where a log density is close to zero, this absolute error is.
const RELATIVE: f64 = 1e-13;
const ABSOLUTE: f64 = 1e-14;

#[test]
fn log_densities_match_the_reference() {
    let mut wrong = Vec::new();
    for (call, x, want) in rows() {
        let got = call.log_density(&value(x));
        let error = (got - want).abs();
        if error.is_nan() || error > RELATIVE * want.abs() + ABSOLUTE {
            wrong.push(format!("{} at {x}: {got}, not {want}: off by {error:e}", call.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_distribution_has_eight_points() {
    for distribution in smidgen_prob::distributions::ALL {
        let name = distribution.spec().name;
        let points = rows().filter(|(call, ..)| call.distribution.spec().name == name).count();
        assert!(points >= 8, "{name}: {points}");
    }
}

/*
from mpmath import *
mp.dps = 400  # far more than any of these formulas cancels
G, L = loggamma, log
def xlogy(x, y): return mpf(0) if x == 0 else x * log(y)
def binom(k, n, p): return G(n+1)-G(k+1)-G(n-k+1)+xlogy(k,p)+xlogy(n-k,1-p)
def gam(x, a, b): return a*L(b)+xlogy(a-1, x)-b*x-G(a)
def nrm(x, m, s): return -((x-m)/s)**2/2-L(s)-L(2*pi)/2
def stt(x, v, m=mpf(0), s=mpf(1)): return G((v+1)/2)-G(v/2)-L(v*pi)/2-L(s)-(v+1)/2*log1p(((x-m)/s)**2/v)
def cau(x, m, s): return -L(pi*s)-log1p(((x-m)/s)**2)
def mass(a, b):  # P(a < Z < b) from the tail that is not close to 1
    q = lambda t: mpf(0) if t == inf else erfc(t/sqrt(mpf(2)))/2
    return q(a)-q(b) if a > 0 else q(-b)-q(-a)
def trunc(x, m, s, lo, hi): return nrm(x, m, s)-L(mass((lo-m)/s, (hi-m)/s))
def gp(p, x): return mpf(p*(p-1))/4*L(pi)+sum(G(x-mpf(j)/2) for j in range(p))
def tr(m): return sum(m[i,i] for i in range(m.rows))
def wis(x, v, n):
    p = v.rows
    return (n-p-1)/2*L(det(x))-tr(v**-1*x)/2-n*p/2*L(2)-n/2*L(det(v))-gp(p, n/2)
def iwis(x, s, n):
    p = s.rows
    return n/2*L(det(s))-(n+p+1)/2*L(det(x))-tr(s*x**-1)/2-n*p/2*L(2)-gp(p, n/2)
def mvn(x, m, c):
    d = matrix(x)-matrix(m)
    return -(d.T*c**-1*d)[0]/2-L(det(c))/2-len(x)*L(2*pi)/2
def dirich(x, a): return G(sum(a))-sum(map(G, a))+sum(xlogy(a_-1, x_) for a_, x_ in zip(a, x))
def cat(i, w): return L(w[int(i)]/sum(w))
def vonm(x, mu, k): return k*cos(x-mu)-L(2*pi)-L(besseli(0, k) if k < 1000 else exp(k)/sqrt(2*pi*k)*nsum(lambda j: rf(mpf(1)/2, j)**2/factorial(j)/(2*k)**j, [0, 20]))
laws = dict(
 bernoulli=lambda x, p=mpf(0.5): L(p) if x == 1 else log1p(-p),
 flip=lambda x, p=mpf(0.5): L(p) if x == 1 else log1p(-p),
 binomial=lambda k, n, p: binom(k, n, p),
 geometric=lambda k, p: xlogy(k, 1-p)+L(p),
 negative_binomial=lambda k, r, p: G(k+r)-G(k+1)-G(r)+r*L(p)+xlogy(k, 1-p),
 poisson=lambda k, r: k*L(r)-r-G(k+1),
 categorical=cat,
 uniform_discrete=lambda x, lo, hi: -L(hi-lo),
 normal=nrm,
 uniform_continuous=lambda x, lo, hi: -L(hi-lo),
 beta=lambda x, a, b: xlogy(a-1, x)+xlogy(b-1, 1-x)-G(a)-G(b)+G(a+b),
 gamma=gam,
 inv_gamma=lambda x, a, b: a*L(b)-(a+1)*L(x)-b/x-G(a),
 expon=lambda x, r: L(r)-r*x,
 student_t=stt,
 cauchy=cau,
 laplace=lambda x, m, s: -abs(x-m)/s-L(2*s),
 logistic_dist=lambda x, m, s: -(x-m)/s-L(s)-2*log1p(exp(-(x-m)/s)),
 lognormal=lambda x, m, s: nrm(L(x), m, s)-L(x),
 weibull=lambda x, k, s: L(k)-L(s)+xlogy(k-1, x/s)-(x/s)**k,
 chi_squared=lambda x, v: gam(x, v/2, mpf(0.5)),
 half_normal=lambda x, s: L(2)+nrm(x, 0, s),
 half_cauchy=lambda x, s: L(2)+cau(x, 0, s),
 half_student_t=lambda x, v, s: L(2)+stt(x, v, 0, s),
 truncated_normal=trunc,
 vonmises=vonm,
 multivariate_normal=mvn,
 multivariate_diag_normal=lambda x, m, s: sum(map(nrm, x, m, s)),
 wishart=wis,
 inv_wishart=iwis,
 dirichlet=dirich,
 symmetric_dirichlet=lambda x, a, n: dirich(x, [a]*int(n)),
 multinomial=lambda x, n, p: G(n+1)+sum(xlogy(k, q/sum(p))-G(k+1) for k, q in zip(x, p)),
 flat=lambda x: mpf(0),
 flat_pos=lambda x: mpf(0),
)
def read(t):
    if t[0] == '[':
        rows = [[mpf(float(x)) for x in r.split(',')] for r in t[1:-1].split(';') if r]
        return matrix(rows) if ';' in t else rows[0]
    return mpf(float({'true': 1, 'false': 0}.get(t, t)))
for line in open('points.txt')  # the first two columns of the table:
    call, x = line.split('|')
    name, *args = call.split()
    print(call.strip(), '|', x.strip(), '|', nstr(laws[name](read(x.strip()), *map(read, args)), 20))
*/
