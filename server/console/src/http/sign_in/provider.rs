//! The provider, asked through the process that may connect: what it can, its keys, and who somebody is that comes back with a code.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_link::words;
use bathyscope_store::{GroupOrigin, LoginGroups, Role};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use openidconnect::{
    AdditionalClaims, AuthType, AuthenticationFlow, AuthorizationCode, ClaimsVerificationError, Client, ClientId,
    ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, StandardErrorResponse,
    StandardTokenResponse, SubjectIdentifier, TokenResponse as _, UserInfoClaims, UserInfoError,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
        CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreResponseType,
        CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
    },
};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{super::people::name_refusal, begun::BegunLogin};
use crate::{
    oidc::{OidcConfig, UserClaim},
    outbound::{Outbound, OutboundError, OutboundMethod, OutboundRequest},
};

/// How long what the provider says of itself, and its keys, are believed.
const FRESH: Duration = Duration::from_secs(3600);
/// How old its keys are at least before they are asked for again because one is missing.
const LEAST_AGE: Duration = Duration::from_secs(30);
/// How long after a failure it is not asked what it can again: anybody may begin a login.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How long one request to it may take.
const TIMEOUT_MS: u32 = 10_000;
/// The path to which it sends people back.
const CALLBACK_PATH: &str = "/oidc/callback";
/// Signatures that are taken: of the provider's own keys. None at all, and those with a secret that is shared, are not.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Claims beside those of the standard, among which are the groups.
#[derive(Debug, Default, Serialize, Deserialize)]
struct MoreClaims(HashMap<String, serde_json::Value>);

impl AdditionalClaims for MoreClaims {}

type Fields = IdTokenFields<
    MoreClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type OidcClient = Client<
    MoreClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What the provider says of somebody.
#[derive(Debug, Default)]
struct Said {
    subject: String,
    preferred_username: Option<String>,
    email: Option<String>,
    email_verified: Option<bool>,
    more: HashMap<String, serde_json::Value>,
}

impl From<&IdTokenClaims<MoreClaims, CoreGenderClaim>> for Said {
    fn from(claims: &IdTokenClaims<MoreClaims, CoreGenderClaim>) -> Self {
        Self {
            subject: claims.subject().as_str().to_owned(),
            preferred_username: claims.preferred_username().map(|name| name.as_str().to_owned()),
            email: claims.email().map(|email| email.as_str().to_owned()),
            email_verified: claims.email_verified(),
            more: claims.additional_claims().0.clone(),
        }
    }
}

impl Said {
    /// With what it says elsewhere, where it says nothing here. An address is verified by who says it.
    fn with(self, other: Self) -> Self {
        let (email, email_verified) = match self.email {
            Some(email) => (Some(email), self.email_verified),
            None => (other.email, other.email_verified),
        };
        let mut more = other.more;
        more.extend(self.more);
        let preferred_username = self.preferred_username.or(other.preferred_username);
        Self { subject: self.subject, preferred_username, email, email_verified, more }
    }
}

/// Why somebody could not log in by the provider.
#[derive(Debug, thiserror::Error)]
pub(super) enum OidcError {
    /// It could not be asked what it can.
    #[error("the provider cannot be asked how people log in there: {0}")]
    Discovery(String),
    /// It could not be asked for a token.
    #[error("the provider could not be asked who it is: {0}")]
    Unreachable(String),
    /// It gives no token for this code.
    #[error("the provider refused the login: it was used already, is too old, or was begun elsewhere")]
    Code,
    /// What it answered is no token.
    #[error("the provider's answer says nothing of who it is: {0}")]
    Answer(String),
    /// The token is not one of the provider's for this login.
    #[error("what the provider says of who it is cannot be believed: {0}")]
    Token(String),
    /// It names nobody.
    #[error("the provider says no name that somebody can have here: {0}")]
    Name(String),
}

/// Who has logged in at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct OidcPerson {
    /// Who it is there.
    pub(in crate::http) subject: String,
    /// What an account of theirs is called.
    pub(in crate::http) name: String,
    /// What their groups may do.
    pub(in crate::http) role: Option<Role>,
    /// Those groups.
    pub(in crate::http) groups: LoginGroups,
}

/// The provider. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Oidc {
    inner: Arc<SharedOidc>,
}

#[derive(Debug)]
struct SharedOidc {
    config: OidcConfig,
    outbound: Outbound,
    known: Mutex<KnownProvider>,
}

#[derive(Debug, Default)]
struct KnownProvider {
    client: Option<(Arc<OidcClient>, Instant)>,
    /// What went wrong last, and when.
    failed: Option<(String, Instant)>,
}

impl Oidc {
    /// A provider that is asked through `outbound`, when somebody first wants to log in by it.
    pub fn new(config: OidcConfig, outbound: Outbound) -> Self {
        Self { inner: Arc::new(SharedOidc { config, outbound, known: Mutex::default() }) }
    }

    /// What people call it.
    pub(in crate::http) fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// The groups that have a role.
    pub(in crate::http) fn groups(&self) -> impl Iterator<Item = &str> {
        self.inner.config.group_roles.iter().map(crate::proxy_users::GroupRole::group)
    }

    /// The provider's issuer.
    pub fn issuer(&self) -> &str {
        &self.inner.config.issuer
    }

    /// Where a browser goes to log in.
    pub(super) async fn address(&self, begun: &BegunLogin) -> Result<String, OidcError> {
        let client = self.client(FRESH).await?;
        let verifier = PkceCodeVerifier::new(begun.verifier());
        let (state, nonce) = (begun.state(), begun.nonce());
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let mut asking = client
            .authorize_url(flow, move || CsrfToken::new(state), move || Nonce::new(nonce))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        for scope in &self.inner.config.scopes {
            asking = asking.add_scope(Scope::new(scope.clone()));
        }
        let (url, _state, _nonce) = asking.url();
        Ok(url.into())
    }

    /// Who it is that came back with a code.
    pub(super) async fn person(&self, begun: &BegunLogin, code: String) -> Result<OidcPerson, OidcError> {
        let client = self.client(FRESH).await?;
        let nonce = Nonce::new(begun.nonce());
        let answer = self.exchanged(&client, begun, code).await?;
        let token = answer.id_token().ok_or_else(|| OidcError::Answer("it has no ID token".to_owned()))?;
        let said = match token.claims(&verifier(&client), &nonce) {
            Ok(claims) => Said::from(claims),
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                // It may have other keys now.
                let client = self.client(LEAST_AGE).await?;
                let claims = token.claims(&verifier(&client), &nonce);
                Said::from(claims.map_err(|error| OidcError::Token(words(&error)))?)
            }
            Err(error) => return Err(OidcError::Token(words(&error))),
        };
        if self.is_complete(&said) {
            return self.named(said);
        }
        // Many providers say more of somebody only to who asks.
        let more = self.asked_more(&client, &answer, &said.subject).await?;
        self.named(said.with(more))
    }

    /// Whether it says a name and groups.
    fn is_complete(&self, said: &Said) -> bool {
        let has_name = match self.inner.config.user_claim {
            UserClaim::PreferredUsername => said.preferred_username.is_some(),
            UserClaim::Email => said.email.is_some(),
        };
        has_name && said.more.contains_key(&self.inner.config.groups_claim)
    }

    /// What the provider says of somebody whose token it has given; nothing where it has no such answer.
    async fn asked_more(
        &self,
        client: &OidcClient,
        answer: &StandardTokenResponse<Fields, CoreTokenType>,
        subject: &str,
    ) -> Result<Said, OidcError> {
        let subject = SubjectIdentifier::new(subject.to_owned());
        let Ok(asking) = client.user_info(answer.access_token().clone(), Some(subject)) else {
            return Ok(Said::default());
        };
        let http = |request| ask(self.inner.outbound.clone(), request);
        let claims: UserInfoClaims<MoreClaims, CoreGenderClaim> =
            asking.request_async(&http).await.map_err(|error| match error {
                UserInfoError::Request(error) => OidcError::Unreachable(words(&error)),
                UserInfoError::ClaimsVerification(error) => OidcError::Token(words(&error)),
                // What it answered is not repeated.
                _ => OidcError::Answer("it is no answer about a person".to_owned()),
            })?;
        Ok(Said {
            subject: claims.subject().as_str().to_owned(),
            preferred_username: claims.preferred_username().map(|name| name.as_str().to_owned()),
            email: claims.email().map(|email| email.as_str().to_owned()),
            email_verified: claims.email_verified(),
            more: claims.additional_claims().0.clone(),
        })
    }

    async fn exchanged(
        &self,
        client: &OidcClient,
        begun: &BegunLogin,
        code: String,
    ) -> Result<StandardTokenResponse<Fields, CoreTokenType>, OidcError> {
        let exchanging = client.exchange_code(AuthorizationCode::new(code));
        let exchanging = exchanging.map_err(|error| OidcError::Discovery(words(&error)))?;
        let exchanging = exchanging.set_pkce_verifier(PkceCodeVerifier::new(begun.verifier()));
        let asking = |request| ask(self.inner.outbound.clone(), request);
        exchanging.request_async(&asking).await.map_err(|error| match error {
            RequestTokenError::ServerResponse(_) => OidcError::Code,
            RequestTokenError::Request(error) => OidcError::Unreachable(words(&error)),
            // What it answered is not repeated: it may have a token in it.
            RequestTokenError::Parse(..) => OidcError::Answer("it is no JSON of a token".to_owned()),
            RequestTokenError::Other(_) => OidcError::Answer("it is no answer of a provider".to_owned()),
        })
    }

    /// Who it is by what the provider says.
    fn named(&self, said: Said) -> Result<OidcPerson, OidcError> {
        let config = &self.inner.config;
        let name = match config.user_claim {
            UserClaim::PreferredUsername => said.preferred_username,
            UserClaim::Email if said.email_verified != Some(true) => {
                return Err(OidcError::Name("it has not verified the address of the mail".to_owned()));
            }
            UserClaim::Email => said.email,
        };
        let name = name.ok_or_else(|| OidcError::Name(format!("there is no claim {}", config.user_claim)))?;
        if let Some(why) = name_refusal(&name) {
            return Err(OidcError::Name(format!("{}: {why}", bathyscope_capture::shown(&name))));
        }
        let groups: Vec<&str> = match said.more.get(&config.groups_claim) {
            Some(serde_json::Value::String(group)) => vec![group],
            Some(serde_json::Value::Array(groups)) => groups.iter().filter_map(|group| group.as_str()).collect(),
            _ => Vec::new(),
        };
        let role = config.role_of(groups.iter().copied());
        let groups = LoginGroups::said(GroupOrigin::Oidc, groups);
        Ok(OidcPerson { subject: said.subject, name, role, groups })
    }

    /// What asks the provider, with keys that are not older than `most`. One asks at a time.
    async fn client(&self, most: Duration) -> Result<Arc<OidcClient>, OidcError> {
        let mut known = self.inner.known.lock().await;
        if let Some((client, _at)) = known.client.as_ref().filter(|(_, at)| at.elapsed() < most) {
            return Ok(Arc::clone(client));
        }
        if let Some((why, _at)) = known.failed.as_ref().filter(|(_, at)| at.elapsed() < RETRY_AFTER) {
            return Err(OidcError::Discovery(why.clone()));
        }
        match self.discovered().await {
            Ok(client) => {
                let client = Arc::new(client);
                known.client = Some((Arc::clone(&client), Instant::now()));
                known.failed = None;
                Ok(client)
            }
            Err(why) => {
                tracing::warn!(error = why, "the provider of the sign-in cannot be asked what it can");
                known.failed = Some((why.clone(), Instant::now()));
                Err(OidcError::Discovery(why))
            }
        }
    }

    async fn discovered(&self) -> Result<OidcClient, String> {
        let config = &self.inner.config;
        let issuer = IssuerUrl::new(config.issuer.clone()).map_err(|error| words(&error))?;
        let asking = |request| ask(self.inner.outbound.clone(), request);
        let metadata = CoreProviderMetadata::discover_async(issuer, &asking).await.map_err(|error| words(&error))?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let has = |method| methods.is_some_and(|methods| methods.contains(&method));
        let in_body = has(CoreClientAuthMethod::ClientSecretPost) && !has(CoreClientAuthMethod::ClientSecretBasic);
        let redirect =
            RedirectUrl::new(format!("{}{CALLBACK_PATH}", config.public_url)).map_err(|error| words(&error))?;
        let secret = config.client_secret.as_ref().map(|secret| ClientSecret::new(secret.reveal().to_owned()));
        let client = Client::from_provider_metadata(metadata, ClientId::new(config.client_id.clone()), secret);
        let client: OidcClient = client.set_redirect_uri(redirect);
        Ok(if in_body { client.set_auth_type(AuthType::RequestBody) } else { client })
    }
}

fn verifier(client: &OidcClient) -> openidconnect::IdTokenVerifier<'_, CoreJsonWebKey> {
    client.id_token_verifier().set_allowed_algs(SIGNATURES)
}

/// Asks the provider through the process that may connect.
async fn ask(outbound: Outbound, request: HttpRequest) -> Result<HttpResponse, OutboundError> {
    let (head, body) = request.into_parts();
    let method = if head.method == http::Method::POST { OutboundMethod::Post } else { OutboundMethod::Get };
    let headers = [ACCEPT, AUTHORIZATION, CONTENT_TYPE].into_iter().filter_map(|name| {
        let value = head.headers.get(&name)?.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    let headers = headers.collect();
    let body = String::from_utf8(body).map_err(|_bytes| OutboundError::TooLarge)?;
    let request = OutboundRequest { method, url: head.uri.to_string(), headers, body, timeout_ms: TIMEOUT_MS };
    let answer = outbound.ask(request).await?;
    let mut response = http::Response::new(answer.body.into_bytes());
    *response.status_mut() = http::StatusCode::from_u16(answer.status)
        .map_err(|_status| OutboundError::Failed("the provider answered with no status of HTTP".to_owned()))?;
    if let Ok(kind) = answer.content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    Ok(response)
}
