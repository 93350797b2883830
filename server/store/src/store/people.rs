//! Accounts, and tokens of people who have one.

use super::{Store, StoreFuture};
use crate::{
    AccountChange, AccountChanged, AccountRecord, AccountSummary, ApiTokenRecord, ApiTokenUse, BegunSession,
    IdentityLogin, IdentityOutcome, IdentityRecord, KeptPassword, NewAccount, NewApiToken, NewSession, TokenHash,
    api_tokens, identities, identity_rows, people,
};

impl Store {
    /// Makes an account. Sessions of its name that login links of before have begun end, and are told.
    ///
    /// # Errors
    /// [`crate::StoreError::AccountExists`], [`crate::StoreError::Refused`] if the name is too long or there are too many; or the
    /// database's.
    pub fn add_account(&self, new: NewAccount) -> StoreFuture<'_, AccountChanged> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { people::add(conn, &new).await })).await
        })
    }

    /// The account of a name, however that is spelt.
    ///
    /// # Errors
    /// The database's.
    pub fn account<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<AccountRecord>> {
        Box::pin(async move { self.database.done(people::find(&mut *self.database.reader().await?, name).await) })
    }

    /// The enabled account whose link to choose a password this is; none if the link is unknown, used or too old. Changes nothing.
    ///
    /// # Errors
    /// The database's.
    pub fn account_of_link(&self, link: TokenHash, now_unix_ns: i64) -> StoreFuture<'_, Option<AccountRecord>> {
        Box::pin(async move {
            self.database.done(people::of_link(&mut *self.database.reader().await?, link, now_unix_ns).await)
        })
    }

    /// Whether there is any account.
    ///
    /// # Errors
    /// The database's.
    pub fn has_accounts(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.done(people::are_there(&mut *self.database.reader().await?).await) })
    }

    /// All accounts by name, with their sessions that have not ended by `now_s` of the session clock, and their tokens that have not
    /// expired by the wall clock.
    ///
    /// # Errors
    /// The database's.
    pub fn accounts(&self, now_s: u64, now_unix_ns: i64) -> StoreFuture<'_, Vec<AccountSummary>> {
        Box::pin(async move {
            let listed = people::list(&mut *self.database.reader().await?, (now_s, now_unix_ns)).await;
            self.database.done(listed)
        })
    }

    /// Changes or removes an account, and ends sessions with it; none if there is none of this name, or its password is another one
    /// meanwhile. With `keeps_an_admin` the last enabled admin stays one.
    ///
    /// # Errors
    /// [`crate::StoreError::LastAdmin`], or the database's.
    pub fn change_account(
        &self,
        name: &str,
        change: AccountChange,
        keeps_an_admin: bool,
    ) -> StoreFuture<'_, Option<AccountChanged>> {
        let name = name.to_owned();
        Box::pin(async move {
            self.database
                .control(move |conn| {
                    Box::pin(async move { people::change(conn, (&name, &change), keeps_an_admin).await })
                })
                .await
        })
    }

    /// Uses up a link to choose a password, at most once however many ask at the same time; none if it is unknown, used or too old, or
    /// its account is disabled. Sessions of the account end.
    ///
    /// # Errors
    /// The database's.
    pub fn choose_password(
        &self,
        link: TokenHash,
        new: KeptPassword,
        now_unix_ns: i64,
    ) -> StoreFuture<'_, Option<AccountChanged>> {
        Box::pin(async move {
            self.database
                .control(move |conn| {
                    Box::pin(async move { people::choose_password(conn, (link, &new), now_unix_ns).await })
                })
                .await
        })
    }

    /// Keeps a session, for the account of its name if there is one: with no higher role than that has, and not if it is disabled.
    /// Where `password` is given there must be an account, and that must still be what is kept of its password. None if there is no
    /// session.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] for a name that is too long, or the database's.
    pub fn begin_session(
        &self,
        new: NewSession,
        password: Option<KeptPassword>,
        now_unix_ns: i64,
    ) -> StoreFuture<'_, Option<BegunSession>> {
        Box::pin(async move {
            self.database
                .control(move |conn| {
                    Box::pin(async move { people::begin_session(conn, (&new, password.as_ref()), now_unix_ns).await })
                })
                .await
        })
    }

    /// Begins a session for somebody who has logged in at an OpenID Connect provider, in the account that is theirs; makes one if there
    /// is none of the name and their groups say what they may do.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] for a name that is too long or too many accounts, or the database's.
    pub fn log_in_by_identity(&self, login: IdentityLogin) -> StoreFuture<'_, IdentityOutcome> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { identities::log_in(conn, &login).await })).await
        })
    }

    /// Allows that the next who has the name of an account at the provider `issuer` is taken for its owner. None if there is no
    /// such account.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if it is somebody there already, or the database's.
    pub fn allow_identity(
        &self,
        account: &str,
        issuer: &str,
        now_unix_ns: i64,
    ) -> StoreFuture<'_, Option<IdentityRecord>> {
        let (account, issuer) = (account.to_owned(), issuer.to_owned());
        Box::pin(async move {
            self.database
                .control(move |conn| {
                    Box::pin(async move { identities::allow(conn, (&account, &issuer), now_unix_ns).await })
                })
                .await
        })
    }

    /// Who an account is at a provider; none if nobody.
    ///
    /// # Errors
    /// The database's.
    pub fn identity<'a>(&'a self, account: &'a str) -> StoreFuture<'a, Option<IdentityRecord>> {
        Box::pin(async move {
            self.database.done(identity_rows::of_account(&mut *self.database.reader().await?, account).await)
        })
    }

    /// Forgets who an account is at a provider, and ends its sessions; none if it is nobody there.
    ///
    /// # Errors
    /// The database's.
    pub fn forget_identity(&self, account: &str) -> StoreFuture<'_, Option<AccountChanged>> {
        let account = account.to_owned();
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { identities::unlink(conn, &account).await })).await
        })
    }

    /// Makes a token for a program of somebody who has an account.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if it lives too long, its owner has too many, or has no account that is enabled; or the
    /// database's.
    pub fn add_api_token(&self, new: NewApiToken) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { api_tokens::add(conn, &new).await })).await
        })
    }

    /// The token of this hash, if it has not expired, with what it may do now. Changes nothing.
    ///
    /// # Errors
    /// The database's.
    pub fn api_token(&self, hash: TokenHash, now_unix_ns: i64) -> StoreFuture<'_, Option<ApiTokenRecord>> {
        Box::pin(async move {
            self.database.done(api_tokens::find(&mut *self.database.reader().await?, hash, now_unix_ns).await)
        })
    }

    /// The tokens of `owner`, or all, that have not expired; the one that was made last first.
    ///
    /// # Errors
    /// The database's.
    pub fn api_tokens<'a>(&'a self, owner: Option<&'a str>, now_unix_ns: i64) -> StoreFuture<'a, Vec<ApiTokenRecord>> {
        Box::pin(async move {
            let listed = api_tokens::list(&mut *self.database.reader().await?, owner, now_unix_ns).await;
            self.database.done(listed)
        })
    }

    /// Revokes a token; says whether there was one.
    ///
    /// # Errors
    /// The database's.
    pub fn revoke_api_token(&self, hash: TokenHash) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(api_tokens::revoke(conn, hash))).await })
    }

    /// Writes that tokens were used. Call it once a minute at most, not with every request.
    ///
    /// # Errors
    /// The database's.
    pub fn note_api_token_uses(&self, uses: Vec<ApiTokenUse>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { api_tokens::note_uses(conn, &uses).await })).await
        })
    }

    /// Removes tokens that have expired; says how many.
    ///
    /// # Errors
    /// The database's.
    pub fn purge_api_tokens(&self, now_unix_ns: i64) -> StoreFuture<'_, u64> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(api_tokens::purge(conn, now_unix_ns))).await })
    }
}
