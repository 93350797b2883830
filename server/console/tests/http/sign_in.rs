//! Logging in by an OpenID Connect provider that this test makes up: who comes in, and every token that is not believed. P06, P09.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{
    Form, Json, Router,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use bathyscope_console::{
    config::{OidcConfig, OidcSecret, UserClaim},
    http::{Doer, PersonChange},
};
use bathyscope_store::Role;
use http::{Request, StatusCode, header};
use openidconnect::{
    JsonWebKeyId, PrivateSigningKey as _,
    core::{CoreJsonWebKeySet, CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey},
    url::Url,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    harness::{Answer, Console, HOST},
    others::{connecting_to, serving},
};

const KEY: &str = include_str!("../data/provider.key.pem");
const FORGED: &str = include_str!("../data/forger.key.pem");
const CLIENT: &str = "bathyscope";
const SECRET: &str = "secret of the client";

/// What a code is exchanged for: the claims, and how they are signed.
#[derive(Clone)]
struct Grant {
    token: String,
    challenge: String,
}

#[derive(Clone, Default)]
struct Provider {
    issuer: Arc<Mutex<String>>,
    codes: Arc<Mutex<HashMap<String, Grant>>>,
    /// Exchanges that were asked for.
    asked: Arc<Mutex<u32>>,
    is_down: Arc<Mutex<bool>>,
    /// What is said of whoever asks with a token.
    more: Arc<Mutex<Value>>,
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..=three.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    out
}

fn key(pem: &str) -> CoreRsaPrivateSigningKey {
    CoreRsaPrivateSigningKey::from_pem(pem, Some(JsonWebKeyId::new("one".to_owned()))).unwrap()
}

fn token(algorithm: &str, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let head = json!({ "alg": algorithm, "typ": "JWT", "kid": "one" });
    let signed = format!("{}.{}", base64url(head.to_string().as_bytes()), base64url(claims.to_string().as_bytes()));
    format!("{signed}.{}", base64url(&sign(signed.as_bytes())))
}

fn signed(pem: &str, claims: &Value) -> String {
    token("RS256", claims, |bytes| key(pem).sign(&CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, bytes).unwrap())
}

async fn discovery(State(provider): State<Provider>) -> Response {
    if *provider.is_down.lock().unwrap() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let issuer = provider.issuer.lock().unwrap().clone();
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        // More than a console takes.
        "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
    }))
    .into_response()
}

async fn keys() -> Json<CoreJsonWebKeySet> {
    Json(CoreJsonWebKeySet::new(vec![key(KEY).as_verification_key()]))
}

async fn userinfo(State(provider): State<Provider>, headers: http::HeaderMap) -> Response {
    if headers.get(header::AUTHORIZATION).is_none_or(|token| token != "Bearer x") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    Json(provider.more.lock().unwrap().clone()).into_response()
}

async fn exchange(State(provider): State<Provider>, Form(form): Form<HashMap<String, String>>) -> Response {
    *provider.asked.lock().unwrap() += 1;
    // A code works once, and only for who has begun.
    let grant = form.get("code").and_then(|code| provider.codes.lock().unwrap().remove(code));
    let challenge = form.get("code_verifier").map(|verifier| base64url(&Sha256::digest(verifier)));
    match grant {
        Some(grant) if Some(&grant.challenge) == challenge.as_ref() => {
            Json(json!({ "access_token": "x", "token_type": "Bearer", "id_token": grant.token })).into_response()
        }
        _ => (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response(),
    }
}

impl Provider {
    /// A provider, and a console whose people log in by it.
    async fn with_console() -> (Self, Console) {
        Self::with_console_where(|_config| ()).await
    }

    async fn with_console_where(change: impl FnOnce(&mut OidcConfig)) -> (Self, Console) {
        let provider = Self::default();
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(keys))
            .route("/token", post(exchange))
            .route("/userinfo", get(userinfo))
            .with_state(provider.clone());
        let issuer = serving(router).await;
        *provider.issuer.lock().unwrap() = issuer.clone();
        let mut config = OidcConfig {
            issuer: issuer.clone(),
            client_id: CLIENT.to_owned(),
            client_secret: Some(OidcSecret::of(SECRET)),
            name: "Example ID".to_owned(),
            user_claim: UserClaim::PreferredUsername,
            groups_claim: "groups".to_owned(),
            group_roles: ["ops=operator", "root=admin", "all=viewer"].map(|role| role.parse().unwrap()).to_vec(),
            scopes: vec!["profile".to_owned()],
            public_url: "https://trace.example".parse().unwrap(),
        };
        change(&mut config);
        let console = Console::with_provider(config, connecting_to(&[&issuer])).await;
        (provider, console)
    }

    /// What the provider says of somebody whose login was begun so.
    fn claims(&self, begun: &Begun, subject: &str, name: &str, groups: &[&str]) -> Value {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        json!({
            "iss": *self.issuer.lock().unwrap(), "sub": subject, "aud": CLIENT, "iat": now, "exp": now + 60,
            "nonce": begun.nonce, "preferred_username": name, "groups": groups,
        })
    }

    /// Grants a code for a token.
    fn grant(&self, begun: &Begun, code: &str, token: String) {
        let grant = Grant { token, challenge: begun.challenge.clone() };
        self.codes.lock().unwrap().insert(code.to_owned(), grant);
    }

    fn asked(&self) -> u32 {
        *self.asked.lock().unwrap()
    }

    /// Logs somebody in who has these groups; what is answered.
    async fn log_in(&self, console: &Console, subject: &str, name: &str, groups: &[&str]) -> Answer {
        let begun = begin(console, "").await;
        self.grant(&begun, "code", signed(KEY, &self.claims(&begun, subject, name, groups)));
        finish(console, &begun, "code").await
    }
}

/// A login that a browser has begun.
struct Begun {
    cookie: String,
    state: String,
    nonce: String,
    challenge: String,
}

async fn begin(console: &Console, next: &str) -> Begun {
    let started = console.ask("GET", &format!("/oidc/start?next={next}"), None, None).await;
    assert_eq!(started.status, 303, "{}", started.text());
    let address = Url::parse(started.header("location")).unwrap();
    let asked: HashMap<String, String> = address.query_pairs().into_owned().collect();
    assert_eq!((asked["response_type"].as_str(), asked["code_challenge_method"].as_str()), ("code", "S256"));
    assert_eq!(asked["redirect_uri"], "https://trace.example/oidc/callback");
    assert_eq!((asked["client_id"].as_str(), asked["scope"].as_str()), (CLIENT, "openid profile"));
    let cookie = started.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/oidc", "Max-Age=600"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let [state, nonce, challenge] = ["state", "nonce", "code_challenge"].map(|name| asked[name].clone());
    assert!(!cookie.contains(&state) && !cookie.contains(&nonce));
    Begun { cookie, state, nonce, challenge }
}

/// From an address of its own: attempts that fail are limited for each.
async fn post_finish(console: &Console, cookie: Option<&str>, form: &str) -> Answer {
    static NEXT: AtomicU32 = AtomicU32::new(0x0a00_0001);
    let source = Ipv4Addr::from_bits(NEXT.fetch_add(1, Ordering::Relaxed));
    post_finish_from(console, source, cookie, form).await
}

async fn post_finish_from(console: &Console, source: Ipv4Addr, cookie: Option<&str>, form: &str) -> Answer {
    let request = Request::builder().method("POST").uri("/oidc/finish").header(header::HOST, HOST);
    let request = request.header("sec-fetch-site", "same-origin");
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let request = cookie.into_iter().fold(request, |request, cookie| request.header(header::COOKIE, cookie));
    let request = request.body(axum::body::Body::from(form.to_owned())).unwrap();
    Answer::of(console.send_from(source.into(), request).await).await
}

async fn finish(console: &Console, begun: &Begun, code: &str) -> Answer {
    post_finish(console, Some(&begun.cookie), &format!("code={code}&state={}&error=&iss=", begun.state)).await
}

/// The cookie of the session that an answer begins; none if it begins none.
fn session(answer: &Answer) -> Option<String> {
    let all = answer.headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = all.filter(|cookie| cookie.starts_with("bathyscope_session="));
    ours.next().map(|cookie| cookie.split(';').next().unwrap().to_owned())
}

/// Who somebody is by an answer: the name and role that their account page is for.
async fn who(console: &Console, answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text());
    let own = console.get("/api/own", &session(answer).unwrap()).await.json();
    format!("{} {}", own["user"].as_str().unwrap_or_default(), own["role"].as_str().unwrap_or_default())
}

#[track_caller]
fn is_refused(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert!(answer.text().contains(words), "{words}: {}", answer.text());
    assert_eq!(session(answer), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_logs_in_at_the_provider_gets_an_account_with_the_role_of_their_groups() {
    let (provider, console) = Provider::with_console().await;
    let login = console.ask("GET", "/login?next=/captures", None, None).await;
    assert!(
        login.text().contains("Log in with Example ID") && login.text().contains("/oidc/start?next=%2Fcaptures"),
        "{}",
        login.text()
    );
    let begun = begin(&console, "/captures%3Fq%3Da%2520b").await;
    let before = console.store.accounts(0, 0).await.unwrap().len();
    let back =
        console.ask("GET", &format!("/oidc/callback?code=one&state={}", begun.state), Some(&begun.cookie), None).await;
    assert_eq!((back.status.as_u16(), back.text().contains(&begun.state)), (200, false));
    assert_eq!(
        (provider.asked(), console.store.accounts(0, 0).await.unwrap().len()),
        (0, before),
        "P04: it changes nothing"
    );
    provider.grant(&begun, "one", signed(KEY, &provider.claims(&begun, "1", "ada", &["x", "ops", "all"])));
    let answer = finish(&console, &begun, "one").await;
    assert_eq!(answer.header("location"), "/captures?q=a%20b");
    let cookies: Vec<_> = answer.headers.get_all(header::SET_COOKIE).iter().map(|it| it.to_str().unwrap()).collect();
    assert!(cookies.iter().any(|it| it.starts_with("bathyscope_sign_in=;") && it.contains("Max-Age=0")), "{cookies:?}");
    assert_eq!(who(&console, &answer).await, "ada operator");
    // Her groups decide at each login, and the provider's name for her is not what tells her from others.
    assert_eq!(who(&console, &provider.log_in(&console, "1", "ada.l", &["root"]).await).await, "ada admin");
    is_refused(
        &provider.log_in(&console, "2", "Ada", &["ops"]).await,
        403,
        "There is an account ada in this console already",
    );
    is_refused(&provider.log_in(&console, "3", "bob", &["others"]).await, 403, "none of your groups");
    is_refused(&provider.log_in(&console, "3", "bob", &[]).await, 403, "none of your groups");
    let people = console.state.people();
    people
        .change("ada", PersonChange { disabled: Some(true), ..PersonChange::default() }, Doer::TERMINAL)
        .await
        .unwrap();
    is_refused(&provider.log_in(&console, "1", "ada", &["root"]).await, 403, "The account ada is disabled");
    let admin = console.cookie("root", Role::Admin).await;
    let audit = console.get("/api/audit", &admin).await;
    let issuer = provider.issuer.lock().unwrap().clone();
    assert!(audit.text().contains(&format!("by {issuer}; an account was made")), "{}", audit.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_before_is_opened_only_if_an_admin_allowed_it() {
    let (provider, console) = Provider::with_console().await;
    let people = console.state.people();
    people.add("grace", Role::Admin, Doer::TERMINAL).await.unwrap();
    is_refused(&provider.log_in(&console, "1", "grace", &["all"]).await, 403, "not known to be yours");
    let admin = console.cookie("root", Role::Admin).await;
    let change = async |body: &str| console.ask("PATCH", "/api/people/grace", Some(&admin), Some(body)).await;
    let allowed = change(r#"{"provider_login":true}"#).await;
    assert_eq!(allowed.json()["identity"]["is_bound"], false, "{}", allowed.text());
    // The role of the account holds, whatever the groups say.
    let entered = provider.log_in(&console, "1", "grace", &["all"]).await;
    assert_eq!(who(&console, &entered).await, "grace admin");
    is_refused(&provider.log_in(&console, "2", "grace", &["all"]).await, 403, "not known to be yours");
    assert_eq!(change(r#"{"provider_login":true}"#).await.status, 400);
    let forgotten = change(r#"{"provider_login":false}"#).await;
    assert!(forgotten.json().get("identity").is_none(), "{}", forgotten.text());
    assert_eq!(console.get("/api/own", &session(&entered).unwrap()).await.status, 401, "its sessions end");
    is_refused(&provider.log_in(&console, "1", "grace", &["all"]).await, 403, "not known to be yours");
    let audit = console.get("/api/audit", &admin).await;
    assert!(
        audit.text().contains("may be bound to somebody at") && audit.text().contains("is bound to nobody any more")
    );
    assert!(audit.text().contains("the account was bound"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_believed_that_is_not_the_providers_for_this_login() {
    let (provider, console) = Provider::with_console().await;
    let hs256 = |claims: &Value| {
        use hmac::{KeyInit as _, Mac as _};
        token("HS256", claims, |bytes| {
            let mut mac = hmac::Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
            mac.update(bytes);
            mac.finalize().into_bytes().to_vec()
        })
    };
    type Forge<'a> = Box<dyn Fn(Value) -> String + Send + 'a>;
    let with = |name: &'static str, value: Value| -> Forge<'_> {
        Box::new(move |mut claims| {
            claims[name] = value.clone();
            signed(KEY, &claims)
        })
    };
    let cases: Vec<(&str, Forge<'_>)> = vec![
        ("another nonce", with("nonce", json!("x"))),
        ("no nonce", with("nonce", Value::Null)),
        ("another audience", with("aud", json!("somebody"))),
        ("more audiences", with("aud", json!([CLIENT, "somebody"]))),
        ("another issuer", with("iss", json!("https://evil.example"))),
        ("expired", with("exp", json!(1_700_000_000))),
        ("no end", with("exp", Value::Null)),
        ("no subject", with("sub", Value::Null)),
        ("another key", Box::new(|claims| signed(FORGED, &claims))),
        ("no signature", Box::new(|claims| token("none", &claims, |_bytes| Vec::new()))),
        ("a secret that is shared", Box::new(move |claims| hs256(&claims))),
        (
            "another algorithm's name",
            Box::new(|claims| {
                let wrong = CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384;
                token("RS256", &claims, |bytes| key(KEY).sign(&wrong, bytes).unwrap())
            }),
        ),
        ("no token", Box::new(|_claims| "x.y.z".to_owned())),
        ("changed", Box::new(|claims| signed(KEY, &claims).replacen('.', ".e30", 1))),
        ("no name", with("preferred_username", Value::Null)),
        ("nobody's name", with("preferred_username", json!("<b>"))),
        ("a link's name", with("preferred_username", json!("admin"))),
    ];
    for (what, forge) in cases {
        let begun = begin(&console, "").await;
        let token = forge(provider.claims(&begun, "1", "ada", &["root"]));
        provider.grant(&begun, "code", token);
        let answer = finish(&console, &begun, "code").await;
        assert_eq!((answer.status.as_u16(), session(&answer)), (401, None), "{what}: {}", answer.text());
        assert!(
            answer.text().contains("Example ID") && !answer.text().contains("127.0.0.1"),
            "{what}: {}",
            answer.text()
        );
        assert!(console.state.people().list().await.unwrap().is_empty(), "{what}");
    }
    assert_eq!(who(&console, &provider.log_in(&console, "1", "ada", &["root"]).await).await, "ada admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_finished_once_in_the_browser_that_has_begun_it_and_in_time() {
    let (provider, console) = Provider::with_console().await;
    let begun = begin(&console, "").await;
    let grant = |code: &str, begun: &Begun| {
        provider.grant(begun, code, signed(KEY, &provider.claims(begun, "1", "ada", &["ops"])));
    };
    grant("one", &begun);
    let form = |state: &str, more: &str| format!("code=one&state={state}{more}");
    // Nothing of these is asked of the provider.
    is_refused(&post_finish(&console, None, &form(&begun.state, "")).await, 401, "not begun in this browser");
    is_refused(&post_finish(&console, Some(&begun.cookie), &form("x", "")).await, 401, "not begun in this browser");
    is_refused(&post_finish(&console, Some(&begun.cookie), "").await, 401, "not begun in this browser");
    let other = begin(&console, "").await;
    is_refused(
        &post_finish(&console, Some(&other.cookie), &form(&begun.state, "")).await,
        401,
        "not begun in this browser",
    );
    let elsewhere = form(&begun.state, "&iss=https://evil.example");
    is_refused(&post_finish(&console, Some(&begun.cookie), &elsewhere).await, 401, "not from Example ID");
    let denied = form(&begun.state, "&error=access_denied");
    is_refused(&post_finish(&console, Some(&begun.cookie), &denied).await, 401, "did not let you in");
    let odd = form(&begun.state, "&error=%3Cscript%3E");
    let answer = post_finish(&console, Some(&begun.cookie), &odd).await;
    is_refused(&answer, 401, "could not log you in");
    assert!(!answer.text().contains("%3Cscript") && !answer.text().contains("<script>"));
    assert_eq!(provider.asked(), 0);
    // The code of another login, which the provider gives to nobody else (PKCE).
    is_refused(&finish(&console, &other, "one").await, 401, "refused the login");
    grant("one", &begun);
    assert_eq!(finish(&console, &begun, "one").await.status, 303);
    is_refused(&finish(&console, &begun, "one").await, 401, "was used already");
    let late = begin(&console, "").await;
    grant("late", &late);
    console.later(601);
    is_refused(&finish(&console, &late, "late").await, 401, "more than ten minutes ago");
    // From another site, nothing.
    let mut request = Request::builder().method("POST").uri("/oidc/finish").header(header::HOST, HOST);
    request = request.header("sec-fetch-site", "cross-site").header(header::COOKIE, &late.cookie);
    assert_eq!(console.send(request.body(axum::body::Body::empty()).unwrap()).await.status(), 403);
    for next in ["https://evil.example", "//evil", "/api/captures", "/oidc/start"] {
        let refused = console.ask("GET", &format!("/oidc/start?next={next}"), None, None).await;
        assert_eq!(refused.status, 400, "{next}");
    }
    let long = format!("/captures?q={}", "a".repeat(2000));
    let refused = console.ask("GET", &format!("/oidc/start?next={long}"), None, None).await;
    assert!(refused.status == 400 && refused.text().contains("too long to be kept"), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p06_attempts_that_fail_are_limited_before_the_provider_is_asked() {
    let (provider, console) = Provider::with_console().await;
    let begun = begin(&console, "").await;
    let mut refused = 0;
    for _ in 0..200 {
        let form = format!("code=guess&state={}", begun.state);
        let answer = post_finish_from(&console, Ipv4Addr::LOCALHOST, Some(&begun.cookie), &form).await;
        if answer.status == 429 {
            refused += 1;
            assert!(answer.text().contains("Too many attempts"), "{}", answer.text());
        }
    }
    assert!(refused > 100 && provider.asked() < 100, "{refused} {}", provider.asked());
    assert_eq!(refused + provider.asked(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn p09_a_provider_that_is_down_is_told_and_other_ways_work() {
    let (provider, console) = Provider::with_console().await;
    *provider.is_down.lock().unwrap() = true;
    let answer = console.ask("GET", "/oidc/start?next=/captures", None, None).await;
    is_refused(&answer, 502, "Example ID cannot be reached from this console");
    assert!(answer.text().contains("Other ways to log in work"));
    let issuer = provider.issuer.lock().unwrap().clone();
    assert!(!answer.text().contains(issuer.trim_start_matches("http://")), "nobody is told where it is");
    let token = console.state.sessions().login_token("alice", Role::Viewer).await.unwrap();
    let entered = console.ask("POST", "/login", None, Some(&format!("token={}", token.reveal()))).await;
    assert_eq!(entered.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_a_name_only_if_the_provider_has_verified_it() {
    let (provider, console) = Provider::with_console_where(|config| config.user_claim = UserClaim::Email).await;
    for (verified, expected) in [(json!(false), false), (Value::Null, false), (json!(true), true)] {
        let begun = begin(&console, "").await;
        let mut claims = provider.claims(&begun, "1", "ada", &["ops"]);
        claims["email"] = json!("ada@example.org");
        claims["email_verified"] = verified;
        provider.grant(&begun, "code", signed(KEY, &claims));
        let answer = finish(&console, &begun, "code").await;
        if expected {
            assert_eq!(who(&console, &answer).await, "ada@example.org operator");
        } else {
            is_refused(&answer, 401, "has not verified the address");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_token_does_not_say_is_asked_and_must_be_of_the_same_person() {
    let (provider, console) = Provider::with_console().await;
    for (subject, expected) in [("1", true), ("2", false)] {
        *provider.more.lock().unwrap() = json!({ "sub": subject, "preferred_username": "ada", "groups": "ops" });
        let begun = begin(&console, "").await;
        let mut claims = provider.claims(&begun, "1", "", &[]);
        for name in ["preferred_username", "groups"] {
            claims.as_object_mut().unwrap().remove(name);
        }
        provider.grant(&begun, "code", signed(KEY, &claims));
        let answer = finish(&console, &begun, "code").await;
        if expected {
            assert_eq!(who(&console, &answer).await, "ada operator");
        } else {
            is_refused(&answer, 401, "cannot be believed");
        }
    }
}

#[tokio::test]
async fn without_a_provider_there_is_nothing_of_it() {
    let console = Console::new().await;
    for (method, path) in [("GET", "/oidc/start"), ("GET", "/oidc/callback?code=a&state=b"), ("POST", "/oidc/finish")] {
        assert_eq!(console.ask(method, path, None, None).await.status, 404, "{path}");
    }
    assert!(!console.ask("GET", "/login", None, None).await.text().contains("/oidc/"));
    let admin = console.cookie("root", Role::Admin).await;
    console.state.people().add("ada", Role::Viewer, Doer::TERMINAL).await.unwrap();
    let refused = console.ask("PATCH", "/api/people/ada", Some(&admin), Some(r#"{"provider_login":true}"#)).await;
    assert!(refused.status == 409 && refused.text().contains("--oidc-issuer"), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_rights_of_the_providers_groups_are_of_one_login() {
    let (provider, console) = Provider::with_console().await;
    let ids = [console.capture("payroll", "root", 10).await, console.capture("local", "root", 20).await];
    let admin = console.cookie("root", Role::Admin).await;
    let put = async |path: String, body: Value| {
        let said = console.ask("PUT", &path, Some(&admin), Some(&body.to_string())).await;
        assert_eq!(said.status, 200, "{path}: {}", said.text());
        said.json()
    };
    // A group of this console has the same name, and another right.
    put("/api/rights/groups/finance".to_owned(), json!({ "people": [] })).await;
    for (id, to) in ids.iter().zip([json!({ "oidc_group": "finance" }), json!({ "group": "finance" })]) {
        let told = put(format!("/api/captures/{id}/rights"), json!({ "list": [{ "to": to, "may": "read" }] })).await;
        assert_eq!(
            told["elsewhere"],
            json!({ "proxy": null, "oidc": ["ops", "root", "all"], "provider": "Example ID" })
        );
    }
    let log_in = async |groups: &[&str]| {
        let entered = provider.log_in(&console, "1", "eve", groups).await;
        assert_eq!(entered.status, 303, "{}", entered.text());
        entered.header("set-cookie").split(';').next().unwrap().to_owned()
    };
    let seen = async |cookie: &str| {
        let mut statuses = Vec::new();
        for id in ids {
            statuses.push(console.get(&format!("/api/captures/{id}"), cookie).await.status.as_u16());
        }
        statuses
    };
    let inside = log_in(&["all", "finance"]).await;
    assert_eq!(seen(&inside).await, [200, 404]);
    let own = console.get("/api/own", &inside).await.json();
    assert_eq!(own["groups"], json!({ "origin": "oidc", "names": ["all", "finance"], "left_out": 0 }));
    // Her login by a link, and a token of hers, are in no group.
    assert_eq!(seen(&console.cookie("eve", Role::Viewer).await).await, [404, 404]);
    let token = format!("Bearer {}", super::tokens::token_of(&console, "eve", Role::Viewer).await);
    let request = Request::get(format!("/api/captures/{}", ids[0])).header(header::HOST, HOST);
    let request = request.header("authorization", token).body(axum::body::Body::empty()).unwrap();
    assert_eq!(console.send(request).await.status(), 404);
    // Another login of hers says as much: both go on. Names that are nearly the same, or hostile, give nothing.
    let hostile = ["all", "Finance", " finance", "finance\u{0}", "finance\n", "group:finance", "finance' OR '1'='1"];
    let other = provider.log_in(&console, "2", "mallory", &hostile).await;
    assert_eq!(other.status, 303, "{}", other.text());
    assert_eq!(seen(other.header("set-cookie").split(';').next().unwrap()).await, [404, 404]);
    let again = log_in(&["all", "finance", "more"]).await;
    assert_eq!((seen(&inside).await, seen(&again).await), (vec![200, 404], vec![200, 404]));
    // She leaves the group: the next login says so, and ends what she had.
    let left = log_in(&["all"]).await;
    assert_eq!(seen(&left).await, [404, 404]);
    assert_eq!((seen(&inside).await, seen(&again).await), (vec![401, 401], vec![401, 401]));
    let ended = console.get(&format!("/api/captures/{}", ids[0]), &inside).await;
    assert!(ended.text().contains("Your groups at the provider are others now"), "{}", ended.text());
    // A list that is too long is no reason to keep her out; what does not count is in the audit log.
    let many: Vec<String> = (0..300).map(|number| format!("g{number}")).collect();
    let many: Vec<&str> = std::iter::once("all").chain(many.iter().map(String::as_str)).collect();
    let many = log_in(&many).await;
    assert_eq!(console.get("/api/own", &many).await.json()["groups"]["left_out"], 45);
    let audit = console.get("/api/audit", &admin).await;
    let audit = audit.text();
    assert!(audit.contains("45 of the groups that it says do not count"), "{audit}");
    assert!(audit.contains("read: oidc-group:finance"), "{audit}");
}
