//! The preview of a share: what chats are shown that do not have its token, where its maker wanted that.

use bathyscope_capture::shown;
use bathyscope_store::Role;
use serde_json::json;

use super::harness::{Answer, Console};

/// A page that nobody has asked for with a token or a login, without what differs each time.
async fn door(console: &Console, id: &str) -> (u16, String) {
    let answer = console.ask("GET", &format!("/s/{id}"), None, None).await;
    let nonce = answer.header("content-security-policy").split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    (answer.status.as_u16(), answer.text().replace(nonce, "NONCE"))
}

async fn picture(console: &Console, id: &str) -> Answer {
    console.ask("GET", &format!("/s/{id}/preview.png"), None, None).await
}

async fn made(console: &Console, cookie: &str, asked: serde_json::Value) -> (String, String) {
    let made = console.ask("POST", "/api/shares", Some(cookie), Some(&asked.to_string())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let token = made["path"].as_str().unwrap().split('#').nth(1).unwrap().to_owned();
    (made["share"]["id"].as_str().unwrap().to_owned(), token)
}

#[tokio::test(flavor = "multi_thread")]
async fn p09_a_preview_is_shown_of_a_share_whose_maker_wanted_one_and_of_nothing_else() {
    let console = Console::new().await;
    let id = console.capture("marker-title", "marker-owner", 10).await;
    let (ada, root) = (console.cookie("ada", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let nothing = door(&console, "00000000000000aa").await;
    let refused = picture(&console, "00000000000000aa").await;
    assert_eq!((nothing.0, refused.status.as_u16()), (200, 404));
    let (plain, _) = made(&console, &ada, json!({ "capture": id, "title": "Seen by those who have the link" })).await;
    let (with, token) =
        made(&console, &ada, json!({ "capture": id, "title": "Why is it slow?", "preview": true })).await;
    let (untitled, _) = made(&console, &ada, json!({ "capture": id, "preview": true, "remove": ["names"] })).await;
    let same_as_nothing = async |id: &str| {
        assert_eq!(door(&console, id).await, nothing, "{id}");
        let answer = picture(&console, id).await;
        let text = |answer: &Answer| answer.text().replace(answer.header("x-request-id"), "");
        assert_eq!((answer.status, text(&answer)), (refused.status, text(&refused)), "{id}");
    };
    same_as_nothing(&plain).await;
    for id in ["nothing", "00000000000000AA", "%00"] {
        same_as_nothing(id).await;
    }
    let (status, page) = door(&console, &with).await;
    assert_eq!(status, 200);
    assert!(page.contains(r#"<meta property="og:title" content="Why is it slow?">"#), "{page}");
    assert!(page.contains(r#"<meta property="og:description" content="A recording of what a system did"#), "{page}");
    let address = format!("http://127.0.0.1:7070/s/{with}/preview.png");
    assert!(page.contains(&format!(r#"<meta property="og:image" content="{address}">"#)), "{page}");
    let shown = picture(&console, &with).await;
    assert_eq!((shown.status.as_u16(), shown.header("content-type")), (200, "image/png"));
    assert!(shown.body.starts_with(b"\x89PNG") && shown.body.len() < 64 << 10);
    assert_eq!((shown.header("cache-control"), shown.header("x-content-type-options")), ("no-store", "nosniff"));
    let untold = door(&console, &untitled).await.1;
    assert!(untold.contains(r#"content="A capture""#), "{untold}");
    for text in [&page, &untold, &format!("{:?}", shown.headers)] {
        for secret in ["marker", "sched", &id.to_string(), &token, env!("CARGO_PKG_VERSION")] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    // It opens nothing: the page asks for the token as before.
    let read = console.ask("GET", &format!("/s/{with}/api/captures/{id}"), None, None).await;
    assert_eq!(read.status, 404);
    let listed = console.get("/api/shares", &ada).await.json();
    let items = listed["items"].as_array().unwrap().clone();
    let previews: Vec<_> = items.iter().filter(|one| one["preview"] == true).map(|one| one["id"].clone()).collect();
    assert_eq!(previews.len(), 2, "{listed}");
    let audit = console.get("/api/audit", &root).await;
    assert!(audit.text().contains("with a preview"), "{}", audit.text());
    // Forbidden, revoked, and with what it shows deleted, it is nothing.
    let allow = async |allowed: bool| {
        let body = json!({ "allowed": allowed }).to_string();
        let answer = console.ask("POST", "/api/shares/allowed", Some(&root), Some(&body)).await;
        assert_eq!(answer.status, 204);
    };
    allow(false).await;
    same_as_nothing(&with).await;
    allow(true).await;
    assert_eq!(picture(&console, &with).await.status, 200);
    assert_eq!(console.ask("DELETE", &format!("/api/shares/{with}"), Some(&ada), None).await.status, 204);
    same_as_nothing(&with).await;
    assert!(console.ask("DELETE", &format!("/api/captures/{id}"), Some(&root), None).await.status.is_success());
    same_as_nothing(&untitled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_a_hostile_title_is_text_in_a_preview() {
    let console = Console::new().await;
    let id = console.capture("shared", "ada", 10).await;
    let ada = console.cookie("ada", Role::Operator).await;
    for title in [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(1)</script>",
        "\"><svg onload=alert(1)>",
        "' onload='alert(1)",
        "a\u{202e}b",
        "a\u{200b}\x1b[2Kb\nc",
        "{{ 7*7 }}",
        "constructor",
    ] {
        let (share, _) = made(&console, &ada, json!({ "capture": id, "title": title, "preview": true })).await;
        let page = door(&console, &share).await.1;
        let head = page.split("og:title\" content=\"").nth(1).unwrap();
        let (content, after) = head.split_once('"').unwrap();
        assert!(after.starts_with(">\n"), "{title:?}: {page}");
        assert!(!content.contains(['<', '>', '\u{202e}', '\u{200b}', '\x1b', '\n']), "{title:?}: {content}");
        let mut read = content.to_owned();
        for (entity, c) in [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")] {
            read = read.replace(entity, c);
        }
        assert_eq!(read, shown(title), "what was written is read");
        assert!(!page.contains("alert(1)>") || !page.contains("<img") && !page.contains("<svg"), "{page}");
    }
}
