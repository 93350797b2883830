//! A login returns to the page that was asked for, and to no other site.

use bathyscope_store::Role;

use super::harness::{Console, own_page};

async fn token(console: &Console) -> String {
    console.state.sessions().login_token("eva", Role::Viewer).await.unwrap().reveal().to_owned()
}

/// `text` in a query or form.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

const HOSTILE: [&str; 10] = [
    "//evil",
    r"/\evil",
    "https:",
    "https://evil/captures",
    "javascript:alert(1)",
    "/\t/evil",
    "/captures\r\nset-cookie: a=b",
    "/login",
    "/api/captures",
    "/captures/..//evil",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_asked_for_without_a_login_follows_it() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let asked = format!("/captures/{id}?v=1&tab=timeline&filter=pid%20%3D%3D%201");
    let answer = console.ask("GET", &asked, None, None).await;
    assert_eq!(answer.status, 303);
    let login = answer.header("location").to_owned();
    let page = console.ask("GET", &login, None, None).await;
    let field = asked.replace('&', "&#38;");
    assert!(page.text().contains(&format!("name=\"next\" id=\"next\" value=\"{field}\"")), "{}", page.text());
    let form = format!("token={}&next={}", "0".repeat(64), encoded(&asked));
    let refused = console.ask("POST", "/login", None, Some(&form)).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains(&field), "a mistyped token does not lose the page");
    let form = format!("token={}&next={}", token(&console).await, encoded(&asked));
    let answer = console.ask("POST", "/login", None, Some(&form)).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, asked.as_str()));
    assert_ne!(answer.header("set-cookie"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_login_leads_to_another_site() {
    let console = Console::new().await;
    let token = token(&console).await;
    let cookie = console.cookie("eva", Role::Viewer).await;
    for next in HOSTILE {
        let login = format!("/login?next={}", encoded(next));
        for cookie in [None, Some(cookie.as_str())] {
            let page = console.ask("GET", &login, cookie, None).await;
            assert_eq!((page.status.as_u16(), page.header("location")), (200, ""), "{next:?}");
            let text = page.text();
            assert!(text.contains("id=\"next\" value=\"\"") && text.contains("no page of this console"), "{next:?}");
        }
        let form = format!("token={token}&next={}", encoded(next));
        let answer = console.ask("POST", "/login", None, Some(&form)).await;
        assert_eq!((answer.status.as_u16(), answer.header("set-cookie")), (400, ""), "{next:?}");
        assert!(!answer.text().contains("evil"), "{next:?}");
    }
    let answer = console.ask("POST", "/login", None, Some(&format!("token={token}"))).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/"), "none of them used the token up");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_logged_in_passes_the_login_page_on() {
    let console = Console::new().await;
    let cookie = console.cookie("eva", Role::Viewer).await;
    let answer = console.get("/login?next=/captures%3Fq%3Da", &cookie).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/captures?q=a"));
    assert_eq!(console.get("/login", &cookie).await.status, 200, "to log in as somebody else");
    // With a link on another site the browser sends no cookie: it has to ask again from here.
    let ask_again = async |site: &str| {
        let mut request = own_page("GET", "/login?next=/captures", None, None);
        request.headers_mut().insert("sec-fetch-site", site.parse().unwrap());
        super::harness::Answer::of(console.send(request).await).await.text().contains("data-ask-again")
    };
    assert!(ask_again("cross-site").await && ask_again("same-site").await);
    assert!(!ask_again("same-origin").await && !ask_again("none").await, "nobody goes in circles");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_for_others_say_so() {
    let console = Console::new().await;
    let viewer = console.cookie("eva", Role::Viewer).await;
    for path in ["/new", "/new?method=events", "/catalog"] {
        let answer = console.get(path, &viewer).await;
        assert_eq!(answer.status, 403, "{path}");
        for words in ["<h1>You may read only</h1>", "eva is logged in as viewer", "login-link --role operator"] {
            assert!(answer.text().contains(words), "{path}: {words}: {}", answer.text());
        }
    }
    let answer = console.get("/nothing", &viewer).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_exist_is_called_so() {
    let console = Console::new().await;
    let viewer = console.cookie("eva", Role::Viewer).await;
    for path in ["/nothing", "/captures/0000000000000001"] {
        let mut request = own_page("GET", path, Some(&viewer), None);
        request.headers_mut().insert("accept", "text/html".parse().unwrap());
        let answer = super::harness::Answer::of(console.send(request).await).await;
        assert_eq!(answer.status, 404);
        assert!(answer.text().contains("<h1>Page not found</h1>"), "{path}: {}", answer.text());
    }
}
