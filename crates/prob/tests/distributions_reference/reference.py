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
