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
bernoulli_logit 0 | 1 | -0.69314718055994530942
bernoulli_logit 0.4 | 1 | -0.51301525239995261476
bernoulli_logit 0.4 | 0 | -0.91301525239995263696
bernoulli_logit -40 | 1 | -40.000000000000000004
bernoulli_logit 40 | 1 | -4.2483542552915889863e-18
bernoulli_logit 800 | 0 | -800.0
bernoulli_logit -1e5 | 1 | -100000.0
bernoulli_logit -37.5 | 0 | -5.1755550058018684009e-17
beta_binomial 10 2 3 | 4 | -1.9671123567059162867
beta_binomial 10 2 3 | 0 | -2.7191000372887950403
beta_binomial 10 0.01 0.02 | 10 | -1.1545859051097818459
beta_binomial 10 1e-8 3 | 2 | -19.496820182800523364
beta_binomial 0 2 3 | 0 | 0.0
beta_binomial 1000000000 2 3 | 400000000 | -20.176301169064547273
beta_binomial 1000000000 1e8 3e8 | 250010000 | -11.146176891845237725
beta_binomial 1000 1e12 1e12 | 480 | -4.4793323554320601098
beta_binomial 20 1e15 1 | 3 | -546.6153417219564264
beta_binomial 50 0.5 1e6 | 50 | -544.82988732958704878
beta_binomial 1000000 1 1 | 77 | -13.815511557963774104
hypergeometric 5 6 7 | 2 | -0.8966709450045029172
hypergeometric 5 6 7 | 5 | -5.3683097383680716621
hypergeometric 0 6 7 | 0 | 0.0
hypergeometric 13 6 7 | 6 | 0.0
hypergeometric 1000 5000 100000 | 47 | -2.821277213786112294
hypergeometric 1000 5000 100000 | 600 | -1210.3733893150919819
hypergeometric 1000000 3000000000 7000000000 | 300000 | -7.0463202490463755561
hypergeometric 1000000 3000000000 7000000000 | 310000 | -243.69556493057841014
hypergeometric 10 5 1000000000000 | 5 | -127.83818474936427174
hypergeometric 50 100 1 | 49 | -0.70309751141311339227
negative_binomial_mean 4 2 | 3 | -2.0273255405408219099
negative_binomial_mean 4 2 | 0 | -2.1972245773362193828
negative_binomial_mean 4 1e-8 | 12 | -20.905587591611343429
negative_binomial_mean 4 1e12 | 9 | -4.3251782299944540417
negative_binomial_mean 1e8 3 | 100000000 | -18.817991073507981507
negative_binomial_mean 1e8 1e6 | 100200000 | -14.416402109750796777
negative_binomial_mean 1e-9 0.5 | 4 | -81.417156836976066615
negative_binomial_mean 0.3 7.5 | 1000 | -3221.0003299712819638
negative_binomial_mean 1e-300 2 | 1 | -690.77552789821370518
poisson_log 1.5 | 0 | -4.4816890703380648226
poisson_log 1.5 | 4 | -1.6597429006860104422
poisson_log -800 | 3 | -2401.791759469228055
poisson_log -2 | 60 | -308.76350870690820388
poisson_log 18.420680743952367 | 100000000 | -10.129278906014188811
poisson_log 18.420680743952367 | 50000000 | -15342650.754708137927
poisson_log 3 | 20 | -2.4211533839411527706
poisson_log 700 | 5 | -1.0142320547350045095e+304
categorical_logit [0.5,-1,2] | 0 | -1.7413112966571570602
categorical_logit [0.5,-1,2] | 1 | -3.2413112966571570602
categorical_logit [0.5,-1,2] | 2 | -0.24131129665715706021
categorical_logit [1000,0] | 1 | -1000.0
categorical_logit [1000,0] | 0 | 0.0
categorical_logit [-800,-801,-799.5] | 1 | -2.104130605336728272
categorical_logit [3] | 0 | 0.0
categorical_logit [0,0,0,0,0,0,0] | 6 | -1.9459101490553133051
ordered_logistic 0.3 [-1,0.5,2] | 0 | -1.5410084538329921965
ordered_logistic 0.3 [-1,0.5,2] | 1 | -1.0916297821400380384
ordered_logistic 0.3 [-1,0.5,2] | 2 | -1.2184073576933117571
ordered_logistic 0.3 [-1,0.5,2] | 3 | -1.8677860293862659264
ordered_logistic 50 [-1,0.5,2] | 1 | -49.752482458925453996
ordered_logistic -800 [-1,0.5,2] | 2 | -800.752482458925454
ordered_logistic 0 [-1e-10,1e-10] | 1 | -23.718998110500402113
ordered_logistic 1000 [0,900] | 0 | -1000.0
ordered_logistic 0 [40,41,900] | 2 | -41.000000000000000002
ordered_logistic 0.1 [0.25] | 1 | -0.77095704778953207453
ordered_probit 0.3 [-1,0.5,2] | 0 | -2.3351032786624424007
ordered_probit 0.3 [-1,0.5,2] | 1 | -0.72885886984976786242
ordered_probit 0.3 [-1,0.5,2] | 2 | -0.97770127609671007542
ordered_probit 0.3 [-1,0.5,2] | 3 | -3.1107960975524815134
ordered_probit 30 [-1,0.5,2] | 1 | -439.42947460915022775
ordered_probit -40 [-1,0.5,2] | 2 | -824.74584924403801836
ordered_probit 0 [-1e-10,1e-10] | 1 | -23.251642282585184236
ordered_probit 100 [0,90] | 0 | -5005.5242086942050886
ordered_probit 0 [7,7.0001,9] | 1 | -34.629628886432893665
ordered_probit 0.125 [0.25] | 1 | -0.79792614275302409024
skew_normal 0 1 3 | 0.5 | -0.41993480825696141536
skew_normal 0 1 3 | -2 | -22.962560302619433087
skew_normal 0 1 3 | -30 | -4505.644662974889028
skew_normal 0 1 3 | 30 | -450.22579135264472743
skew_normal 1 2 -0.5 | 4 | -3.5283867631243290338
skew_normal 1 2 0 | 4 | -2.7370857137646180512
skew_normal 1 0.001 100 | 0.999 | -4999.3422447678763544
skew_normal -3 1e5 1e4 | 1e3 | -11.738767118064955852
skew_normal 2 3 1e-9 | 2 | -2.0175508218727824332
beta_mean 0.3 10 | 0.4 | 0.63189388116716890565
beta_mean 0.3 10 | 1e-200 | -915.50460811010679931
beta_mean 0.3 10 | 0.9999999999 | -132.62567599588911496
beta_mean 0.25 1e-3 | 0.1 | -6.1744404623619929055
beta_mean 0.25 1e8 | 0.2501 | 6.4619307156805396521
beta_mean 0.5 2 | 0.7 | 0.0
beta_mean 1e-6 1e4 | 1e-5 | 6.790428831036848077
beta_mean 0.875 1e3 | 0.2 | -1056.1206005047996941
inverse_gaussian 1 3 | 0.8 | -0.10991706189930330823
inverse_gaussian 1 3 | 1e-3 | -1487.0094994703973811
inverse_gaussian 1 3 | 1e3 | -1507.7327653073438235
inverse_gaussian 1e6 1e-6 | 1e-7 | 11.350449664251669934
inverse_gaussian 1e-5 1e8 | 1.00001e-5 | -474.43422499894979864
inverse_gaussian 2 0.001 | 1e10 | -1250038.9110925676325
inverse_gaussian 1e3 1e3 | 1e-200 | -5.0000000000000000895e+202
inverse_gaussian 5 5 | 5 | -2.5283764456387731164
gumbel 0 1 | 0 | -1.0
gumbel 0 1 | -6 | -397.42879349273512261
gumbel 0 1 | 700 | -700.0
gumbel 1 2 | 0.3 | -1.76221472915320256
gumbel 1e8 0.5 | 100000001 | -1.4421881026766673825
gumbel -3 1e-5 | -3.00001 | 9.7946436364999264287
gumbel -3 1e5 | 1e6 | -21.513000863538013442
gumbel 0 1 | -100 | -2.6881171418161354484e+43
pareto 1 3 | 1 | 1.0986122886681096914
pareto 1 3 | 2.5 | -2.5665506388285105693
pareto 1 3 | 1e200 | -1840.9694621065684374
pareto 1e-300 0.1 | 1e300 | -831.2332185708504996
pareto 5 1e8 | 5.0000001 | 14.811242825909638635
pareto 5 1e-8 | 7 | -20.366590896372401123
pareto 2 0.5 | 3.75 | -2.3292073502534518255
pareto 0.125 20 | 0.1875 | -3.4395934550376250999
multivariate_normal_cholesky [0,0] [1,0;0.5,2] | [0.5,-1] | -2.851336746969290793
multivariate_normal_cholesky [1,2] [1,0;0.5,2] | [50,-80] | -2620.8122742469692908
multivariate_normal_cholesky [1,2,3] [2,0,0;-1,0.5,0;3,1,0.25] | [1,2,3.5] | -3.3705212384941276065
multivariate_normal_cholesky [1] [3;] | [7] | -4.0175508218727824332
multivariate_normal_cholesky [0,0] [1e-5,0;1,1e5] | [2e-5,1e5] | -4.3378570666093455654
multivariate_normal_cholesky [0,0] [1e5,0;1,1e-5] | [0,0] | -1.8378770664093455654
multivariate_normal_cholesky [0,0,0] [1,0,0;0,1,0;0,0,1] | [1,1,1] | -4.2568155996140182253
multivariate_normal_cholesky [0.25,0.75] [0.5,0;0.125,0.375] | [-1,3] | -26.63612285505989616
multivariate_student_t 4 [0,0] [2,0.5;0.5,1] | [0.5,-1] | -3.1117563682403843372
multivariate_student_t 0.5 [0,0] [2,0.5;0.5,1] | [50,-80] | -14.619481339473785849
multivariate_student_t 4 [1,2] [2,0.5;0.5,1] | [1e20,1e20] | -274.66960721417643492
multivariate_student_t 1e8 [1,2] [2,0.5;0.5,1] | [2,0] | -5.2605420673158345006
multivariate_student_t 3 [1] [4;] | [7] | -4.4666247524232362575
multivariate_student_t 7.5 [1,2,3] [2,0.5,0;0.5,1,0.25;0,0.25,4] | [1,2,3] | -3.6288348495705350099
multivariate_student_t 7.5 [1,2,3] [2,0.5,0;0.5,1,0.25;0,0.25,4] | [-1,4,2] | -8.0443189108747874365
multivariate_student_t 1 [0,0,0] [1,0,0;0,1,0;0,0,1] | [1,1,1] | -5.062048493938581586
random_walk 3 0.5 | [0.25,0.5,-1] | -5.4273740579341822971
random_walk 3 0.5 2 | [2.25,0.5,-1] | -11.427374057934182297
random_walk 1 2 | [3] | -2.7370857137646180512
random_walk 4 1e-5 | [1e-5,2e-5,0,-1e-5] | 38.875947727062222386
random_walk 4 1e5 | [1e-5,2e-5,0,-1e-5] | -49.727455992699604648
random_walk 2 1 -4 | [100,-100] | -25409.837877066409345
random_walk 5 1.5 | [1,2,3,4,5] | -7.7331293176752967299
random_walk 5 1.5 1000 | [1001,1000,1001.5,1003,1002] | -8.2886848732308522855
ar 3 [0.5] 0.5 | [0.25,0.5,-1] | -4.2086240579341822971
ar 3 [0.5,0.25] 0.5 2 | [2.25,0.5,-1] | -16.778936557934182297
ar 1 [0.5,0.25,7] 2 | [3] | -2.7370857137646180512
ar 4 [-0.5,2] 1e-5 | [1e-5,2e-5,0,-1e-5] | 25.750947727062222386
ar 4 [0] 1e5 | [1e-5,2e-5,0,-1e-5] | -49.727455992699604648
ar 2 [0.875] 1 -4 | [100,-100] | -22894.337877066409345
ar 5 [1,1,1] 1.5 | [1,2,3,4,5] | -11.510907095453074508
ar 5 [0.5,-0.25] 1.5 1000 | [1001,1000,1001.5,1003,1002] | -8.875490428786407841
dirichlet_multinomial 10 [1,2,3] | [2,3,5] | -3.5765502691400166613
dirichlet_multinomial 10 [1,2,3] | [10,0,0] | -8.0073670679833302766
dirichlet_multinomial 10 [1e-8,0.5] | [10,0] | -18.987113554725387285
dirichlet_multinomial 0 [1,2] | [0,0] | 0.0
dirichlet_multinomial 1000000 [0.5,0.5,1e6] | [100,200000,799900] | -149854.70014556367821
dirichlet_multinomial 6 [1e12,1e12,1e12] | [2,2,2] | -2.0918640616803930816
dirichlet_multinomial 7 [3] | [7] | 8.5336683895332035433e-401
dirichlet_multinomial 100 [0.01,0.01,0.01,0.01] | [25,25,25,25] | -23.527231103514405989
lkj 2 1 | [1,0.5;0.5,1] | -0.69314718055994530942
lkj 2 3.5 | [1,-0.875;-0.875,1] | -3.6086612816873737873
lkj 2 0.25 | [1,0.984375;0.984375,1] | 0.94807779400408215701
lkj 3 2 | [1,0.5,0.25;0.5,1,-0.125;0.25,-0.125,1] | -1.0607943547824928546
lkj 3 0.5 | [1,0.5,0.25;0.5,1,-0.125;0.25,-0.125,1] | -2.3083687386416087667
lkj 3 1e4 | [1,0.5,0.25;0.5,1,-0.125;0.25,-0.125,1] | -4440.5664273077949937
lkj 1 2 | [1;] | 0.0
lkj 4 1.5 | [1,0,0,0;0,1,0,0;0,0,1,0;0,0,0,1] | -1.5186487487060385315
lkj_cholesky 2 1 | [1,0;0.6,0.8] | -0.69314718055994530942
lkj_cholesky 2 3.5 | [1,0;-0.8,0.6] | -2.5357071948736729121
lkj_cholesky 2 0.25 | [1,0;0.96,0.28] | 0.25234199752784885044
lkj_cholesky 3 2 | [1,0,0;0.6,0.8,0;0.48,-0.64,0.6] | -2.3065652396017393432
lkj_cholesky 3 0.5 | [1,0,0;0.6,0.8,0;0.48,-0.64,0.6] | -2.0201986232033000728
lkj_cholesky 3 1e4 | [1,0,0;0.6,0.8,0;0.48,-0.64,0.6] | -14666.04027857597205
lkj_cholesky 1 2 | [1;] | 0.0
lkj_cholesky 4 1.5 | [1,0,0,0;0,1,0,0;0,0,1,0;0,0,0,1] | -1.5186487487060385315
zero_inflated poisson 0.3 4 | 0 | -1.1621243057305437831
zero_inflated poisson 0.3 4 | 3 | -1.9895513298071155074
zero_inflated poisson 1e-20 800 | 0 | -46.051701859880913735
zero_inflated poisson 0 800 | 0 | -800.0
zero_inflated poisson 1 4 | 0 | 0.0
zero_inflated negative_binomial_mean 0.25 4 2 | 100 | -38.416296943763179057
zero_inflated binomial 0.25 10 0.5 | 0 | -1.3833689567907854828
zero_inflated binomial 0.25 10 0.5 | 10 | -7.2191538780512340216
hurdle poisson 0.3 4 | 0 | -1.2039728043259360296
hurdle poisson 0.3 4 | 3 | -1.9710658829812289468
hurdle poisson 0.3 1e-12 | 1 | -0.35667494393923236305
hurdle poisson 0.3 1e-12 | 4 | -86.427792122072822668
hurdle poisson 0 800 | 700 | -10.722622911171488022
hurdle negative_binomial_mean 0.25 4 1e-6 | 100 | -7.6142938638969034624
hurdle binomial 0.25 10 0.5 | 10 | -7.2181768384034074088
hurdle geometric 1e-300 0.125 | 0 | -690.77552789821370518
mixture [0.25,0.75] normal (0,1) normal (3,0.5) | 1 | -2.8019198821940187793
mixture [0.25,0.75] normal (0,1) normal (3,0.5) | 60 | -1802.3052328943245634
mixture [1,3] normal (0,1) cauchy (3,0.5) | -60 | -10.4118915778187473
mixture [1,3] normal (0,1) cauchy (3,0.5) | 1e10 | -48.177260998142040091
mixture [2] gamma (2,3) | 0.5 | 0.0040773967762740733733
mixture [1,1,2] poisson (1) poisson (40) binomial (50,0.5) | 7 | -10.909025963847188903
mixture [1,0] normal (0,1) normal (3,0.5) | 3 | -5.4189385332046727418
mixture [1e-300,1] normal (0,1) normal (3,1e-3) | 0 | -691.69446643141837792
ordered normal 3 0 2 | [-1,0.5,4] | -5.2007476720657991528
ordered normal 1 0 2 | [7] | -7.7370857137646180512
ordered normal 3 0 2 | [-100,0.5,4e5] | -20000001253.075747672
ordered gamma 2 2 3 | [0.25,0.5] | 0.75815479355254814675
ordered student_t 4 3 | [-1,0.5,4,5] | -9.7197889524075779309
ordered cauchy 2 0 1 | [-1e100,1e100] | -922.63034978875712871
ordered lognormal 2 0 1 | [1e-10,1e10] | -531.33454093368920043
ordered logistic_dist 5 0 1 | [-2,-1,0,1,2] | -4.3595614125826259466
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
        // What only directives make has no name to write here.
        if !distribution.spec().is_spellable() {
            continue;
        }
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
def choose(n, k): return G(n+1)-G(k+1)-G(n-k+1)
def lbeta(a, b): return G(a)+G(b)-G(a+b)
def lphi(z): return L(erfc(-z/sqrt(mpf(2)))/2)
def logistic(t): return 1/(1+exp(-t))
def stretch(k, eta, cuts, mass):
    ends = [-inf]+list(cuts)+[inf]
    return L(mass(ends[int(k)]-eta, ends[int(k)+1]-eta))
def between(a, b): return (1 if b == inf else logistic(b))-(0 if a == -inf else logistic(a))
def mvt(x, v, m, s):
    d, e = len(x), matrix(x)-matrix(m)
    return G((v+d)/2)-G(v/2)-mpf(d)/2*L(v*pi)-L(det(s))/2-(v+d)/2*log1p((e.T*s**-1*e)[0]/v)
def auto(x, c, s, m):
    at = lambda t: x[t]-m if t >= 0 else mpf(0)
    return sum(nrm(at(t), sum(ck*at(t-1-k) for k, ck in enumerate(c)), s) for t in range(len(x)))
def lkj_norm(n, e): return sum(k*L(pi)/2+G(e+(n-1-k)/2) for k in range(1, int(n)))-(n-1)*G(e+(n-1)/2)
def dens(D, x, *args): return laws[D](x, *args)
def parts(name, x, *a):  # P(X < x) and P(X <= x)
    if name == 'normal':
        p = (mpf(0) if x == -inf else mpf(1) if x == inf else erfc(-(x-a[0])/a[1]/sqrt(mpf(2)))/2)
        return p, p
    if name == 'expon':
        p = mpf(0) if x < 0 else mpf(1) if x == inf else 1-exp(-a[0]*x)
        return p, p
    if x == -inf: return mpf(0), mpf(0)
    if x == inf: return mpf(1), mpf(1)
    terms = [exp(dens(name, mpf(k), *a)) for k in range(0, int(floor(x))+1)]
    return sum(terms[:-1] if floor(x) == x else terms), sum(terms)
def censored(x, D, lo, hi, *a):
    return L(parts(D, lo, *a)[1]) if x == lo else L(1-parts(D, hi, *a)[0]) if x == hi else dens(D, x, *a)
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
 bernoulli_logit=lambda x, e: -log1p(exp(-e)) if x == 1 else -log1p(exp(e)),
 beta_binomial=lambda k, n, a, b: choose(n, k)+lbeta(k+a, n-k+b)-lbeta(a, b),
 hypergeometric=lambda k, n, a, b: choose(a, k)+choose(b, n-k)-choose(a+b, n),
 negative_binomial_mean=lambda k, m, f: G(k+f)-G(k+1)-G(f)+f*L(f/(m+f))+xlogy(k, m/(m+f)),
 poisson_log=lambda k, e: k*e-exp(e)-G(k+1),
 categorical_logit=lambda i, w: w[int(i)]-L(sum(map(exp, w))),
 ordered_logistic=lambda k, e, c: stretch(k, e, c, between),
 ordered_probit=lambda k, e, c: stretch(k, e, c, mass),
 skew_normal=lambda x, m, s, a: L(2)+nrm(x, m, s)+lphi(a*(x-m)/s),
 beta_mean=lambda x, m, k: xlogy(m*k-1, x)+xlogy((1-m)*k-1, 1-x)-lbeta(m*k, (1-m)*k),
 inverse_gaussian=lambda x, m, l: (L(l/(2*pi*x**3))-l*(x-m)**2/(m**2*x))/2,
 gumbel=lambda x, m, s: -(x-m)/s-exp(-(x-m)/s)-L(s),
 pareto=lambda x, m, a: L(a)+a*L(m)-(a+1)*L(x),
 multivariate_normal_cholesky=lambda x, m, l: mvn(x, m, l*l.T),
 multivariate_student_t=mvt,
 random_walk=lambda x, n, s, m=mpf(0): auto(x, [mpf(1)], s, m),
 ar=lambda x, n, c, s, m=mpf(0): auto(x, c, s, m),
 dirichlet_multinomial=lambda x, n, a: G(n+1)+G(sum(a))-G(n+sum(a))+sum(G(k+b)-G(k+1)-G(b) for k, b in zip(x, a)),
 lkj=lambda x, n, e: (e-1)*L(det(x))-lkj_norm(n, e),
 lkj_cholesky=lambda x, n, e: sum((2*(e-1)+n-1-i)*L(x[i,i]) for i in range(int(n)))-lkj_norm(n, e),
 zero_inflated=lambda k, D, p, *a: L(1-p)+dens(D, k, *a) if k > 0 else L(p+(1-p)*exp(dens(D, k, *a))),
 hurdle=lambda k, D, p, *a: L(1-p)+dens(D, k, *a)-L(1-exp(dens(D, mpf(0), *a))) if k > 0 else L(p),
 mixture=lambda x, w, *a: L(sum(v*exp(dens(D, x, *b)) for v, D, b in zip(w, a[::2], a[1::2])))-L(sum(w)),
 ordered=lambda x, D, n, *a: G(n+1)+sum(dens(D, y, *a) for y in x),
 truncate=lambda x, D, lo, hi, *a: dens(D, x, *a)-L(parts(D, hi, *a)[1]-parts(D, lo, *a)[0]),
 censor=censored,
 flat=lambda x: mpf(0),
 flat_pos=lambda x: mpf(0),
)
def read(t):
    if t[0] == '(':
        return [read(x) for x in t[1:-1].split(',')]
    if t in laws:
        return t
    if t[0] == '[':
        rows = [[mpf(float(x)) for x in r.split(',')] for r in t[1:-1].split(';') if r]
        return matrix(rows) if ';' in t else rows[0]
    return mpf(float({'true': 1, 'false': 0}.get(t, t)))
for line in open('points.txt'):  # the first two columns of the table
    call, x = line.split('|')
    name, *args = call.split()
    print(call.strip(), '|', x.strip(), '|', nstr(laws[name](read(x.strip()), *map(read, args)), 20))
*/
